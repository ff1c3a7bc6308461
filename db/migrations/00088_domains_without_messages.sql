-- A turn can end in a later hour than an earlier attempt of it. Where that attempt has no price, its hour has neither a message nor a cost, but a turn
-- without a price, which the hours together must have as the whole day has it.

-- As 00043 has it, with rows of which only the turns without a price are known.
create or replace function operator.domains(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, domain public.coaching_domain, turns bigint, share numeric, confidence numeric, abstentions bigint,
        first_token_p50 numeric, first_token_p95 numeric, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' as $$
declare
    measures constant text[] := array['messages', 'routed', 'confidence', 'abstentions', 'cost_nanodollars', 'priced_calls', 'unpriced_turns'];
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'domain'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('usage', starts, ends, group_by, grain, tz, measures), array['domain'], array['public.coaching_domain'], group_by,
            measures, grain)
        || '), l as materialized (select * from gateway.latency_figures($1, $2, $5, $3, $4, ''{first_token}''))
        select f.bucket, f.domain, f.messages, round(f.messages / nullif(sum(f.messages) over (partition by f.bucket), 0), 4),
            round(f.confidence::numeric / nullif(f.routed, 0) / 1000000, 4), f.abstentions, l.first_token_p50, l.first_token_p95,
            case when f.priced_calls > 0 then f.cost_nanodollars end, f.unpriced_turns
        from f
        left join l on coalesce(l.bucket, ''-infinity'') = coalesce(f.bucket, ''-infinity'')
            and coalesce(l.domain::text, '''') = coalesce(f.domain::text, '''')
        where f.messages > 0 or f.cost_nanodollars <> 0 or f.unpriced_turns > 0'
        using starts, ends, grain, tz, group_by;
end $$;
