-- US dollars in reasons have two to four decimals: `#` is no digit of to_char, and was shown as it is.
do $$
begin
  execute replace(pg_get_functiondef('budget_reason'::regproc), 'FM999999990.00##', 'FM999999990.0099');
end $$;
