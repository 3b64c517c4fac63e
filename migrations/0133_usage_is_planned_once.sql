-- A session plans these once, as it does the claim. It planned them anew for each call, which took longer than carrying them out: `add_usage`
-- because a claim forbids sorts, so a general plan that was made within one looked like the dearest there is, and `count_hops` because an
-- estimate with known values is a little lower. While its small tables had no statistics, `count_hops` read them whole.
alter function add_usage(text[], integer, bigint, double precision) set plan_cache_mode = force_generic_plan;
alter function count_hops(text[], double precision, double precision) set plan_cache_mode = force_generic_plan;
alter function count_hops(text[], double precision, double precision) set enable_seqscan = off;
