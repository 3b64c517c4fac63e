-- Pages are cleaned before they are divided into chunks, because an element that readers do not see can span several. The next sync reads
-- these pages again; chunks that do not change keep their vectors.
update knowledge_pages p set revision = null where exists (
  select from document_chunks c where c.knowledge_source_id = p.knowledge_source_id and c.page_id = p.page_id and c.content like '%<%');
