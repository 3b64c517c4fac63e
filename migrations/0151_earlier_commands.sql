-- The commands that were carried out before the column existed. Separate, because a change of the table's columns delays all webhooks.
update webhook_events set carried_out = true
where outcome = 'dispatched' and comment is not null and reason ~ '^/(stop|retry|continue|approve|reject) by '
  and (reason ~ '^/(stop|approve|reject) ' or reason !~ ': (nothing on this issue has failed|0 executions (released|restarted))');
