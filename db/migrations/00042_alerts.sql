-- Alerts: rules are the document `alert-rules`; one instance at a time compares what they measure with their thresholds.

create table gateway.alerts (
    id bigint generated always as identity primary key,
    rule text not null,
    measure text not null,
    severity text not null,
    threshold double precision not null,
    -- When it began, while it is firing the latest, and when it was resolved the last.
    value double precision not null,
    started_at timestamptz not null default clock_timestamp(),
    -- NULL: it is firing.
    resolved_at timestamptz
);
create unique index idx_alerts_firing on gateway.alerts (rule) where resolved_at is null;

-- What instances measure of themselves.
create table gateway.instance_readings (
    instance uuid not null,
    measure text not null,
    value double precision not null,
    at timestamptz not null default clock_timestamp(),
    primary key (instance, measure)
);

-- Notes readings of an instance, of one value for each measure; forgets those of instances that are long gone.
create function gateway.note_readings(instance uuid, measures text[], readings double precision[]) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    insert into gateway.instance_readings as r (instance, measure, value)
    select $1, n.measure, n.value from unnest(measures, readings) as n (measure, value)
    on conflict on constraint instance_readings_pkey do update set value = excluded.value, at = clock_timestamp();
    delete from gateway.instance_readings r where r.at < clock_timestamp() - interval '1 day';
end $$;

-- The present value of a measure over the last `period`, in whole quarters of an hour, the present one included; NULL: there is nothing to measure.
-- cost_growth: over those that have ended, and as many before them, so that a steady cost is 1; NULL when those before cost nothing, as after a quiet
-- night: there the rule of cost_usd tells of a rise. Shares and percentiles need so many attempts or turns. Readings of instances count for a minute.
create function gateway.alert_value(measure text, period interval, minimum integer) returns double precision
    language plpgsql stable set search_path = '' as $$
declare
    since constant timestamptz := date_bin('15 minutes', now() - period, 'epoch');
    quarter constant timestamptz := date_bin('15 minutes', now(), 'epoch');
    figures record;
begin
    if measure = 'cost_growth' then
        return (
            select coalesce(sum(q.cost_nanodollars) filter (where q.bucket >= quarter - period), 0)
                / nullif(sum(q.cost_nanodollars) filter (where q.bucket < quarter - period), 0)
            from gateway.usage_quarters q where q.bucket >= quarter - 2 * period and q.bucket < quarter);
    elsif measure in ('cost_usd', 'unpriced_turns', 'error_share') then
        select coalesce(sum(q.cost_nanodollars), 0) / 1e9 as cost, coalesce(sum(q.unpriced_turns), 0) as unpriced,
            coalesce(sum(q.attempts), 0) as attempts, coalesce(sum(q.errors), 0) as errors
        into figures from gateway.usage_quarters q where q.bucket >= since;
        return case measure
            when 'cost_usd' then figures.cost
            when 'unpriced_turns' then figures.unpriced
            when 'error_share' then case when figures.attempts >= greatest(minimum, 1) then figures.errors / figures.attempts end end;
    elsif measure = 'first_token_p95_ms' then
        return (
            select l.first_token_p95 from gateway.latency_figures(since, quarter + interval '15 minutes', '{}', 'hour', 'UTC', '{first_token}') l
            where l.turns >= greatest(minimum, 1));
    elsif measure = 'budget_share' then
        return (
            select coalesce(max(b.taken::double precision / nullif(b.at_most, 0)), 0) from gateway.shared_budgets b
            where b.day = (now() at time zone 'UTC')::date);
    elsif measure = 'user_budget_share' then
        return (
            select coalesce(max(b.limit_share), 0) from public.budgets b
            where b.day = (now() at time zone 'UTC')::date and b.limit_share is not null);
    elsif measure = 'dead_jobs' then
        return (select coalesce(sum(j.dead), 0) from gateway.job_figures() j);
    elsif measure = 'job_lag_seconds' then
        return (select coalesce(max(j.oldest_seconds), 0) from gateway.job_figures() j);
    elsif measure = 'open_circuits' then
        return (select count(*) from gateway.circuits() c where c.state <> 'closed');
    end if;
    return (
        -- Instances measure the same queue of webhooks, but each its own receipts and classifier.
        select case $1 when 'webhook_lag_seconds' then max(r.value) else sum(r.value) end
        from gateway.instance_readings r where r.measure = $1 and r.at > clock_timestamp() - interval '1 minute');
end $$;

-- Compares the rules with what they measure: alerts begin, go on or are resolved; those of rules that are gone are resolved. Returns the rules that
-- fire. While another instance evaluates, nothing is changed.
--
-- rules: [{id, measure, above, window_minutes, minimum, severity}]. delivery: kind of the job that is enqueued for each beginning and end, with the
-- alert as its payload; NULL: none.
create function gateway.evaluate_alerts(rules jsonb, delivery text) returns setof text
    language plpgsql security definer set search_path = '' set jit = off as $$
declare
    found record;
    alert gateway.alerts;
begin
    if pg_try_advisory_xact_lock(hashtextextended('gateway.evaluate_alerts', 0)) then
        for found in
            select r.id, r.measure, r.above, r.severity, gateway.alert_value(r.measure, make_interval(mins => r.window_minutes), r.minimum) as value
            from jsonb_to_recordset(rules) as r (
                id text, measure text, above double precision, window_minutes integer, minimum integer, severity text)
        loop
            alert := null;
            if found.value > found.above then
                insert into gateway.alerts as a (rule, measure, severity, threshold, value)
                values (found.id, found.measure, found.severity, found.above, found.value)
                on conflict (rule) where resolved_at is null do nothing
                returning * into alert;
                if alert.id is null then
                    update gateway.alerts a set value = found.value, threshold = found.above, severity = found.severity
                    where a.rule = found.id and a.resolved_at is null and a.value is distinct from found.value;
                    continue;
                end if;
            else
                update gateway.alerts a set resolved_at = clock_timestamp(), value = coalesce(found.value, a.value)
                where a.rule = found.id and a.resolved_at is null
                returning * into alert;
            end if;
            if alert.id is not null then
                perform gateway.deliver_alert(alert, delivery);
            end if;
        end loop;
        for alert in
            update gateway.alerts a set resolved_at = clock_timestamp()
            where a.resolved_at is null and not exists (select from jsonb_array_elements(rules) as r where r ->> 'id' = a.rule)
            returning *
        loop
            perform gateway.deliver_alert(alert, delivery);
        end loop;
    end if;
    return query select a.rule from gateway.alerts a where a.resolved_at is null order by 1;
end $$;

-- An alert as webhooks have it.
create function gateway.alert_json(alert gateway.alerts) returns jsonb
    language sql stable set search_path = ''
    as $$ select jsonb_build_object(
        'id', alert.id, 'rule', alert.rule, 'measure', alert.measure, 'severity', alert.severity,
        'state', case when alert.resolved_at is null then 'firing' else 'resolved' end, 'value', alert.value, 'threshold', alert.threshold,
        'started_at', to_char(alert.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'resolved_at', to_char(alert.resolved_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) $$;

create function gateway.deliver_alert(alert gateway.alerts, delivery text) returns void
    language plpgsql set search_path = '' as $$
begin
    if delivery is not null then
        perform gateway.enqueue_job(
            null, delivery, gateway.alert_json(alert),
            format('%s/%s', alert.id, case when alert.resolved_at is null then 'firing' else 'resolved' end));
    end if;
end $$;

-- Alerts, newest first, with numbers below `before` (NULL: from the newest). is_firing: NULL: all.
create function operator.alerts(is_firing boolean, before bigint, at_most integer)
    returns table (
        id bigint, rule text, measure text, severity text, state text, value double precision, threshold double precision,
        started_at timestamptz, resolved_at timestamptz)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query
        select a.id, a.rule, a.measure, a.severity, case when a.resolved_at is null then 'firing' else 'resolved' end, a.value, a.threshold,
            a.started_at, a.resolved_at
        from gateway.alerts a
        where (before is null or a.id < before) and (is_firing is null or (a.resolved_at is null) = is_firing)
        order by a.id desc limit least(at_most, 1000);
end $$;

revoke all on gateway.alerts, gateway.instance_readings from public, anon, authenticated, coach_gateway;
alter table gateway.alerts enable row level security;
alter table gateway.instance_readings enable row level security;
revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function
    gateway.note_readings(uuid, text[], double precision[]), gateway.evaluate_alerts(jsonb, text), operator.alerts(boolean, bigint, integer)
    to coach_gateway;
