-- Figures with latency: of turns, domains and providers. Their arguments are those of all figures.

-- Latency by group, in milliseconds, of these measures; others are NULL. Groups: day, provider, model, domain; domain with provider or model only where
-- it is read from UTC days.
create function gateway.latency_figures(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, measures gateway.latency_measure[])
    returns table (
        bucket timestamptz, provider text, model text, domain public.coaching_domain, turns bigint,
        first_token_p50 numeric, first_token_p90 numeric, first_token_p95 numeric, first_token_p99 numeric,
        per_token_p50 numeric, per_token_p90 numeric, per_token_p95 numeric, per_token_p99 numeric,
        whole_turn_p50 numeric, whole_turn_p90 numeric, whole_turn_p95 numeric, whole_turn_p99 numeric)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    family constant text := case
        when 'domain' = any (group_by) and not gateway.is_whole_days(starts, ends, group_by, grain, tz) then 'domain_latency'
        else 'latency' end;
    source constant gateway.figure_rows := gateway.figure_source(family, starts, ends, group_by, grain, tz, measures::text[]);
    is_hours constant boolean := source.unit in ('hour', 'split_hour');
    -- Whether each of its rows is alone in a group.
    is_alone constant boolean := source.unit = 'hour' and case family when 'latency' then array['provider', 'model'] else array['domain'] end <@ group_by;
    -- A row for each measure becomes a column. %s: its rows. The percentiles of an hour that is alone are kept, so that they need not be computed anew.
    percentiles constant text := case when is_alone then 'min(s.percentiles) %1$s'
        else case when is_hours then 'case when count(*) %1$s = 1 then min(s.percentiles) %1$s end, ' else '' end
            || 'gateway.latency_percentiles(gateway.total(s.histogram) %1$s, gateway.total(s.turns) %1$s)' end;
    columns constant text := (
        select string_agg(format('coalesce(%s) as %I', format(percentiles, format('filter (where s.measure = %L)', m)), m), ', ') from unnest(measures) as m);
begin
    if family = 'domain_latency' and group_by && array['provider', 'model'] then
        raise exception 'latency by domain and model is by UTC days' using errcode = 'invalid_parameter_value';
    end if;
    return query execute
        'with f as materialized (' || gateway.figure_query(
            source, array['provider', 'model', 'domain'], array['text', 'text', 'public.coaching_domain'], group_by, '{}', grain,
            'true',
            'coalesce(gateway.total(s.turns) filter (where s.measure = ''first_token''), 0) as turns, ' || columns)
        || ') select f.bucket, f.provider, f.model, f.domain, f.turns, '
        || (select string_agg(
            case when m = any (measures) then format('f.%I[%s]', m, p) else 'null::numeric' end, ', ' order by m, p)
            from unnest(enum_range(null::gateway.latency_measure)) as m
            cross join generate_series(1, 4) as p)
        -- Without groups there is a row also when there is nothing.
        || ' from f where coalesce(' || (select string_agg(format('f.%I', m), ', ') from unnest(measures) as m) || ') is not null'
        using starts, ends, grain, tz;
end $$;

create function operator.latency(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, provider text, model text, domain public.coaching_domain, turns bigint,
        first_token_p50 numeric, first_token_p90 numeric, first_token_p95 numeric, first_token_p99 numeric,
        per_token_p50 numeric, per_token_p90 numeric, per_token_p95 numeric, per_token_p99 numeric,
        whole_turn_p50 numeric, whole_turn_p90 numeric, whole_turn_p95 numeric, whole_turn_p99 numeric)
    language plpgsql stable security definer set search_path = '' set work_mem = '32MB' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'provider', 'model', 'domain'], grain, tz);
    return query
        select * from gateway.latency_figures(starts, ends, group_by, grain, tz, enum_range(null::gateway.latency_measure));
end $$;

-- By domain (NULL: the generic answer). Groups: day, domain. turns: messages of users whose turn ended, with or without an answer. share: of the
-- turns of the bucket. confidence: the mean of those routed. abstentions: no domain was sure enough.
create function operator.domains(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
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
        where f.messages > 0 or f.cost_nanodollars <> 0'
        using starts, ends, grain, tz, group_by;
end $$;

-- By provider. Groups: day, provider, model. breaker: now, over all instances; NULL by days, and where it is not known. errors: attempts that a provider
-- had begun to answer and that ended with an error, and calls that it did not accept while another one answered, or was asked after it; the row
-- without a provider has attempts that none accepted, and calls that need no model.
create function operator.providers(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, provider text, model text, calls bigint, errors bigint, error_share numeric,
        first_token_p50 numeric, first_token_p95 numeric, per_token_p50 numeric, whole_turn_p95 numeric, breaker text)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' as $$
declare
    measures constant text[] := array['calls', 'errors', 'attempts', 'failed_calls'];
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'provider', 'model'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('usage', starts, ends, group_by, grain, tz, measures), array['provider', 'model'], array['text', 'text'], group_by,
            measures, grain)
        || '), l as materialized (
            select * from gateway.latency_figures($1, $2, $5, $3, $4, enum_range(null::gateway.latency_measure)))
        select f.bucket, f.provider, f.model, f.calls, f.errors + f.failed_calls,
            round((f.errors + f.failed_calls)::numeric / nullif(f.attempts + f.failed_calls, 0), 4),
            l.first_token_p50, l.first_token_p95, l.per_token_p50, l.whole_turn_p95,
            (select max(c.state)::text from gateway.circuits() c
                where f.bucket is null and c.provider = f.provider and (f.model is null or c.model = f.model))
        from f
        left join l on coalesce(l.bucket, ''-infinity'') = coalesce(f.bucket, ''-infinity'')
            and coalesce(l.provider, '''') = coalesce(f.provider, '''') and coalesce(l.model, '''') = coalesce(f.model, '''')
        where f.calls > 0 or f.attempts > 0 or f.failed_calls > 0'
        using starts, ends, grain, tz, group_by;
end $$;

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function
    operator.latency(timestamptz, timestamptz, text[], text, text), operator.domains(timestamptz, timestamptz, text[], text, text),
    operator.providers(timestamptz, timestamptz, text[], text, text)
    to coach_gateway;
