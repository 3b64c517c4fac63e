-- What a worker needs to know about an execution that it has just claimed: where its answer belongs, who caused it, the versions
-- of its task and its agent, and the breaker that it probes.
--
-- A function, and volatile, because `claim_executions` takes executions that were stored after its statement began. The rest
-- of that statement sees the database as it was before, and so no event of such an execution: its answer would go to the issue
-- in place of its thread, and in public where the event is private. Each query in here sees what is stored now.
create function claimed_with(execution uuid, event uuid, task text, agent text)
returns table (place json, origin json, task_version text, agent_version text, probes text)
language plpgsql volatile as $$
begin
  return query
    select
      case when w.id is not null then json_build_object('private', w.private, 'thread', w.thread, 'comment', w.comment,
        'incomplete', w.incomplete, 'traceparent', w.traceparent) end,
      case when w.id is not null then json_build_object('author', w.author, 'occurred_at', w.occurred_at,
        'received_at', w.received_at) end,
      (select t.xmin::text from tasks t where t.id = task),
      (select a.xmin::text from agents a where a.id = agent),
      (select b.key from breakers b where b.probe = execution limit 1)
    from (select) one left join webhook_events w on w.id = event;
end
$$;
