-- The tools of an MCP server as they were approved: at first, those that the first discovery found. What differs from them now
-- is offered to nobody.
alter table mcp_servers add column approved json;
update mcp_servers set approved = tools where json_array_length(tools) > 0;
