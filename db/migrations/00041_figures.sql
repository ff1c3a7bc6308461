-- Operators' figures, read from the rollups. Every function has the same arguments, so that a figure is a function here and its columns in the
-- gateway:
--
-- starts, ends: the period; whole quarters of an hour, `ends` not included. group_by: names of keys; columns of others are NULL. grain: hour, day or
-- week (from Monday), the length of `bucket` when grouped by `day`. tz: the time zone of days and weeks. Figures of accounts are by UTC days; others
-- are read from UTC days where the arguments allow it. Amounts of money are nanodollars; NULL: unknown.

-- Raises invalid_parameter_value for what no figure has.
create function gateway.check_figure(group_by text[], allowed text[], grain text, tz text) returns void
    language plpgsql stable set search_path = '' as $$
begin
    if not group_by <@ allowed or grain not in ('hour', 'day', 'week') then
        raise exception 'unknown group or grain' using errcode = 'invalid_parameter_value';
    end if;
    perform now() at time zone tz;
end $$;

-- Whether a figure can be read from UTC days.
create function gateway.is_whole_days(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text) returns boolean
    language sql immutable set search_path = ''
    return starts = date_trunc('day', starts, 'UTC') and ends = date_trunc('day', ends, 'UTC')
        and (not 'day' = any (group_by) or grain <> 'hour' and tz in ('UTC', 'Etc/UTC'));

-- The rollup that a figure is read from: usage, persona or latency by the largest buckets that the arguments allow.
create function gateway.figure_source(family text, starts timestamptz, ends timestamptz, group_by text[], grain text, tz text) returns text
    language sql stable set search_path = ''
    return family || case
        when gateway.is_whole_days(starts, ends, group_by, grain, tz) then '_days'
        when family = 'latency' then '_hours'
        when family = 'usage' and date_trunc('hour', starts at time zone tz) = starts at time zone tz
            and date_trunc('hour', ends at time zone tz) = ends at time zone tz then '_hours'
        else '_quarters' end;

-- A query of a rollup, as text: bucket, keys by name (NULL where not grouped by) and sums of measures. The query's parameters are starts, ends, grain
-- and tz.
create function gateway.figure_query(source text, keys text[], types text[], group_by text[], measures text[]) returns text
    language plpgsql immutable set search_path = '' as $$
declare
    is_days constant boolean := source like '%days';
    raw constant text := case when not 'day' = any (group_by) then 'null::timestamptz' when is_days then 's.day' else 's.bucket' end;
    columns constant text := (select string_agg(format('%1$I', k), ', ') from unnest(keys) as k);
    inner_columns constant text := (
        select string_agg(case when k.key = any (group_by) then format('s.%1$I', k.key) else format('null::%s as %I', k.type, k.key) end, ', ')
        from unnest(keys, types) as k (key, type));
    inner_groups constant text := concat_ws(', ', case when 'day' = any (group_by) then raw end, (
        select string_agg(format('s.%I', k), ', ') from unnest(keys) as k where k = any (group_by)));
    sums constant text := (select string_agg(format('sum(%1$I)::bigint as %1$I', m), ', ') from unnest(measures) as m);
begin
    -- First by the buckets as they are: there are far fewer of them to be put into those wanted than there are rows.
    return format(
        'select %s as bucket, %s, %s from (select %s as raw, %s, %s from gateway.%I s where %s %s) s where $3 is not null and $4 is not null
        group by 1, %s',
        case
            when not 'day' = any (group_by) then 'raw'
            when is_days then 'date_trunc($3, raw::timestamp at time zone ''UTC'', ''UTC'')'
            else 'date_trunc($3, raw, $4)' end,
        columns, sums, raw, inner_columns, sums, source,
        case when is_days then 's.day >= ($1 at time zone ''UTC'')::date and s.day < ($2 at time zone ''UTC'')::date'
            else 's.bucket >= $1 and s.bucket < $2' end,
        case when inner_groups <> '' then 'group by ' || inner_groups else '' end, columns);
end $$;

-- Tokens and cost. Groups: day, model, provider, domain, persona, user, tier. Only calls with a receipt count; corrections count in the call they
-- correct. A cost is the sum of the priced calls; unpriced_turns is the number of turns of which it lacks a call. Turns of removed users have no
-- user_id.
create function operator.costs(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    is_users constant boolean := 'user' = any (group_by);
    source constant text := case
        when is_users then case when group_by <@ array['day', 'user'] then 'account_days' else 'account_usage_days' end
        else gateway.figure_source(
            case when 'persona' = any (group_by) then 'persona' else 'usage' end, starts, ends, group_by, grain, tz) end;
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'model', 'provider', 'domain', 'persona', 'user', 'tier'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            source, array['model', 'provider', 'domain', 'persona_id', 'account_id', 'tier'],
            array['text', 'text', 'public.coaching_domain', 'uuid', 'uuid', 'text'],
            array_replace(array_replace(group_by, 'user', 'account_id'), 'persona', 'persona_id'),
            array['calls', 'turns', 'input_tokens', 'input_known', 'cached_input_tokens', 'cached_input_known', 'output_tokens', 'output_known',
                'cost_nanodollars', 'priced_calls', 'unpriced_turns'])
        || case when is_users then $sql$)
            select f.bucket, f.model, f.provider, f.domain, f.persona_id, u.id, f.tier, sum(f.turns)::bigint,
                case when sum(f.input_known) > 0 then sum(f.input_tokens) end::bigint,
                case when sum(f.cached_input_known) > 0 then sum(f.cached_input_tokens) end::bigint,
                case when sum(f.output_known) > 0 then sum(f.output_tokens) end::bigint,
                case when sum(f.priced_calls) > 0 then sum(f.cost_nanodollars) end::bigint, sum(f.unpriced_turns)::bigint
            from f left join public.users u on u.account_id = f.account_id
            where f.calls > 0
            group by 1, 2, 3, 4, 5, 6, 7
            order by 1, 2, 3, 4, 5, 6, 7 $sql$
        else $sql$)
            select f.bucket, f.model, f.provider, f.domain, f.persona_id, null::uuid, f.tier, f.turns,
                case when f.input_known > 0 then f.input_tokens end, case when f.cached_input_known > 0 then f.cached_input_tokens end,
                case when f.output_known > 0 then f.output_tokens end, case when f.priced_calls > 0 then f.cost_nanodollars end,
                f.unpriced_turns
            from f
            where f.calls > 0
            order by 1, 2, 3, 4, 5, 7 $sql$ end
        using starts, case when is_users then date_trunc('day', ends - interval '1 microsecond', 'UTC') + interval '1 day' else ends end, grain, tz;
end $$;

-- Latency by group, in milliseconds. Groups: day, provider, model and, where it is read from UTC days, domain.
create function gateway.latency_figures(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, provider text, model text, domain public.coaching_domain, turns bigint,
        first_token_p50 numeric, first_token_p90 numeric, first_token_p95 numeric, first_token_p99 numeric,
        per_token_p50 numeric, per_token_p90 numeric, per_token_p95 numeric, per_token_p99 numeric,
        whole_turn_p50 numeric, whole_turn_p90 numeric, whole_turn_p95 numeric, whole_turn_p99 numeric)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    if 'domain' = any (group_by) and not gateway.is_whole_days(starts, ends, group_by, grain, tz) then
        raise exception 'latency by domain is by UTC days' using errcode = 'invalid_parameter_value';
    end if;
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('latency', starts, ends, group_by, grain, tz), array['provider', 'model', 'domain', 'measure', 'bin'],
            array['text', 'text', 'public.coaching_domain', 'text', 'smallint'], group_by || array['measure', 'bin'], array['turns'])
        || '), ranked as (
            select f.*, sum(f.turns) over (histogram order by f.bin) / sum(f.turns) over histogram as share from f
            window histogram as (partition by f.bucket, f.provider, f.model, f.domain, f.measure)
        ) select r.bucket, r.provider, r.model, r.domain, coalesce(sum(r.turns) filter (where r.measure = ''first_token''), 0)::bigint, '
        || (select string_agg(
            format('gateway.latency_of(min(r.bin) filter (where r.measure = %L and r.share >= %s))', m.measure, p.share), ', '
            order by m.place, p.share)
            from unnest(array['first_token', 'per_token', 'whole_turn']) with ordinality as m (measure, place)
            cross join unnest(array[0.5, 0.9, 0.95, 0.99]) as p (share))
        || ' from ranked r group by 1, 2, 3, 4 order by 1, 2, 3, 4'
        using starts, ends, grain, tz;
end $$;

create function operator.latency(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, provider text, model text, domain public.coaching_domain, turns bigint,
        first_token_p50 numeric, first_token_p90 numeric, first_token_p95 numeric, first_token_p99 numeric,
        per_token_p50 numeric, per_token_p90 numeric, per_token_p95 numeric, per_token_p99 numeric,
        whole_turn_p50 numeric, whole_turn_p90 numeric, whole_turn_p95 numeric, whole_turn_p99 numeric)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'provider', 'model', 'domain'], grain, tz);
    return query select * from gateway.latency_figures(starts, ends, group_by, grain, tz);
end $$;

-- By domain (NULL: the generic answer). Groups: day, domain. turns: messages of users whose turn ended, with or without an answer. share: of the
-- turns of the bucket. confidence: the mean of those routed. abstentions: no domain was sure enough. Latency is by UTC days only, otherwise NULL.
create function operator.domains(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, domain public.coaching_domain, turns bigint, share numeric, confidence numeric, abstentions bigint,
        first_token_p50 numeric, first_token_p95 numeric, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    is_days constant boolean := gateway.is_whole_days(starts, ends, group_by, grain, tz);
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'domain'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('usage', starts, ends, group_by, grain, tz), array['domain'], array['public.coaching_domain'], group_by,
            array['messages', 'routed', 'confidence', 'abstentions', 'cost_nanodollars', 'priced_calls', 'unpriced_turns'])
        || '), l as materialized (' || case when is_days
            then 'select * from gateway.latency_figures($1, $2, $5, $3, $4)'
            else 'select null::timestamptz as bucket, null::public.coaching_domain as domain, null::numeric as first_token_p50,
                null::numeric as first_token_p95 where false' end
        || ')
        select f.bucket, f.domain, f.messages, round(f.messages / nullif(sum(f.messages) over (partition by f.bucket), 0), 4),
            round(f.confidence::numeric / nullif(f.routed, 0) / 1000000, 4), f.abstentions, l.first_token_p50, l.first_token_p95,
            case when f.priced_calls > 0 then f.cost_nanodollars end, f.unpriced_turns
        from f left join l on l.bucket is not distinct from f.bucket and l.domain is not distinct from f.domain
        where f.messages > 0 or f.cost_nanodollars <> 0
        order by 1, 2'
        using starts, ends, grain, tz, group_by;
end $$;

-- By provider. Groups: day, provider, model. breaker: now, over all instances; NULL by days, and where it is not known. errors: attempts that a provider had begun to answer and that ended with an error; the row without a
-- provider has those that none accepted, and calls that need no model.
create function operator.providers(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, provider text, model text, calls bigint, errors bigint, error_share numeric,
        first_token_p50 numeric, first_token_p95 numeric, per_token_p50 numeric, whole_turn_p95 numeric, breaker text)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'provider', 'model'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('usage', starts, ends, group_by, grain, tz), array['provider', 'model'], array['text', 'text'], group_by,
            array['calls', 'errors', 'attempts'])
        || '), l as materialized (select * from gateway.latency_figures($1, $2, $5, $3, $4))
        select f.bucket, f.provider, f.model, f.calls, f.errors, round(f.errors::numeric / nullif(f.attempts, 0), 4),
            l.first_token_p50, l.first_token_p95, l.per_token_p50, l.whole_turn_p95,
            (select max(c.state)::text from gateway.circuits() c
                where f.bucket is null and c.provider = f.provider and (f.model is null or c.model = f.model))
        from f left join l on l.bucket is not distinct from f.bucket and l.provider is not distinct from f.provider
            and l.model is not distinct from f.model
        where f.calls > 0 or f.attempts > 0
        order by 1, 2, 3'
        using starts, ends, grain, tz, group_by;
end $$;

-- Attempts that ended with an error. Groups: day (UTC), code, provider. share: of all attempts of the bucket.
create function operator.errors(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (bucket timestamptz, code text, provider text, errors bigint, share numeric)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'code', 'provider'], grain, tz);
    if not gateway.is_whole_days(starts, ends, group_by, grain, tz) then
        raise exception 'errors are by UTC days' using errcode = 'invalid_parameter_value';
    end if;
    return query execute
        'with f as materialized (' || gateway.figure_query(
            'error_days', array['code', 'provider'], array['text', 'text'], group_by, array['errors'])
        || '), a as materialized (' || gateway.figure_query(
            'usage_days', array['tier'], array['text'], array(select 'day' where 'day' = any (group_by)), array['attempts'])
        || ') select f.bucket, f.code, f.provider, f.errors, round(f.errors::numeric / nullif(a.attempts, 0), 4)
        from f left join a on a.bucket is not distinct from f.bucket where f.errors > 0 order by 1, 2, 3'
        using starts, ends, grain, tz;
end $$;

-- A row for each UTC day of the period, none in the future. messages: of users, whose turn ended. turns: those with a receipt. weekly and monthly:
-- accounts with a message within 7 and 30 days, this one included.
create function operator.usage(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, active_users bigint, weekly_active_users bigint, monthly_active_users bigint, conversations bigint,
        messages bigint, messages_per_conversation numeric, turns bigint, errors bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    first_day constant date := starts at time zone 'UTC';
    last_day constant date := least((ends - interval '1 microsecond') at time zone 'UTC', now() at time zone 'UTC');
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day'], grain, tz);
    return query
        with usage as materialized (
            select u.day, sum(u.messages) as messages, sum(u.turns) as turns, sum(u.errors) as errors from gateway.usage_days u
            where u.day between first_day and last_day group by u.day
        ), activity as materialized (
            select a.day, a.active, a.conversations, sum(a.weekly_change) over so_far as weekly, sum(a.monthly_change) over so_far as monthly
            from gateway.activity_days a window so_far as (order by a.day)
        )
        select d.day::timestamp at time zone 'UTC', coalesce(a.active, 0), coalesce(before.weekly, 0)::bigint,
            coalesce(before.monthly, 0)::bigint, coalesce(a.conversations, 0), coalesce(u.messages, 0)::bigint,
            round(u.messages / nullif(a.conversations, 0), 2), coalesce(u.turns, 0)::bigint, coalesce(u.errors, 0)::bigint
        from (select n::date as day from generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as n) d
        left join activity a on a.day = d.day
        left join lateral (select b.weekly, b.monthly from activity b where b.day <= d.day order by b.day desc limit 1) before on true
        left join usage u on u.day = d.day
        order by 1;
end $$;

-- Accounts by the week (UTC, from Monday) of their first message, and how many of them wrote in each week from then on. Cohorts of the period.
create function operator.retention(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (cohort timestamptz, week bigint, users bigint, cohort_users bigint, share numeric)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, '{}', grain, tz);
    return query
        select r.cohort::timestamp at time zone 'UTC', ((r.week - r.cohort) / 7)::bigint, r.accounts, o.accounts,
            round(r.accounts::numeric / o.accounts, 4)
        from gateway.retention_weeks r
        join gateway.retention_weeks o on o.cohort = r.cohort and o.week = r.cohort
        where r.accounts > 0 and o.accounts > 0 and r.cohort >= date_trunc('week', starts at time zone 'UTC')::date
            and r.cohort < ends at time zone 'UTC'
        order by 1, 2;
end $$;

-- Every row that was booked before is in the figures; NULL: not known yet.
create function gateway.figures_as_of() returns timestamptz
    language sql stable security definer set search_path = ''
begin atomic
    select s.as_of from gateway.rollup_state s;
end;

create index idx_users_account_id on public.users (account_id);

-- Calls behind a figure: ids, times and counts. One UTC day after the other, newest first, of those on which there are any; within a day in the
-- order of their keys, after `after` (day, account, turn, attempt, call).
--
-- A call began within its ledger's day. filter: {model, provider, domain, persona_id, user_id, tier}; absent: any; JSON null: calls without one.
create function operator.calls(starts timestamptz, ends timestamptz, filter jsonb, after text[], at_most integer)
    returns table (
        day date, account_id uuid, turn_id uuid, attempt integer, call integer, purpose public.usage_purpose, user_id uuid,
        conversation_id uuid, persona_id uuid, domain public.coaching_domain, tier text, provider text, model text, input_tokens bigint,
        cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced boolean, estimated boolean, status public.turn_status,
        error_code text, time_to_first_token_ms integer, duration_ms integer, started_at timestamptz, booked_at timestamptz)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = (filter ->> 'user_id')::uuid);
    known constant jsonb := filter - 'user_id';
    condition constant text := coalesce((
        select string_agg(format(' and %I is not distinct from %L', f.key, f.value), '') from jsonb_each_text(known) as f), '');
    a_day date;
    found_rows integer := 0;
    more integer;
begin
    perform operator.require_operator();
    if not array(select jsonb_object_keys(known)) <@ array['model', 'provider', 'domain', 'persona_id', 'tier'] then
        raise exception 'unknown filter' using errcode = 'invalid_parameter_value';
    end if;
    if filter ? 'user_id' and account is null then
        return;
    end if;
    for a_day in execute format(
        'select distinct s.day from gateway.%I s where s.calls > 0 and s.day between $1 and $2 and ($3 is null or %s) %s order by 1 desc',
        case when account is null then 'persona_days' else 'account_usage_days' end,
        case when account is null then 'true' else 's.account_id = $3' end, condition)
        using (starts at time zone 'UTC')::date, least(after[1]::date, ((ends - interval '1 microsecond') at time zone 'UTC')::date), account
    loop
        return query execute $sql$
            select c.day, k.account_id, k.turn_id, k.attempt, k.call, c.purpose,
                (select u.id from public.users u where u.account_id = k.account_id), c.conversation_id, c.persona_id, c.domain, c.tier,
                c.provider, c.model, c.input_tokens, c.cached_input_tokens, c.output_tokens, c.cost, c.unpriced > 0, c.estimated, c.status,
                c.error_code, c.first_token, c.duration, c.started_at, c.booked_at
            from (
                -- Calls with a row that fits; a correction may have changed that since.
                select distinct l.account_id, l.turn_id, l.attempt, l.call from public.usage_logs l
                where l.day = $1 and l.finalized_by is not null and ($6 is null or l.account_id = $6)
                    and ($2 is null or (l.account_id, l.turn_id, l.attempt, l.call) > ($2, $3, $4, $5)) $sql$ || condition || $sql$
                order by 1, 2, 3, 4) as k
            cross join lateral (
                select $1 as day, min(l.purpose) as purpose, max(l.tier) as tier,
                    (array_agg(l.conversation_id order by l.revision))[1] as conversation_id,
                    (array_agg(l.persona_id order by l.revision))[1] as persona_id,
                    (array_agg(l.domain order by l.revision desc))[1] as domain,
                    (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1] as provider,
                    (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1] as model,
                    sum(l.input_tokens)::bigint as input_tokens, sum(l.cached_input_tokens)::bigint as cached_input_tokens,
                    sum(l.output_tokens)::bigint as output_tokens, gateway.to_nanodollars(sum(l.cost_usd)) as cost, sum(l.unpriced) as unpriced,
                    (array_agg(l.estimated order by l.revision desc))[1] as estimated,
                    (array_agg(l.status order by l.revision desc) filter (where l.status is not null))[1] as status,
                    (array_agg(l.error_code order by l.revision desc) filter (where l.status is not null))[1] as error_code,
                    (array_agg(l.time_to_first_token_ms order by l.revision desc) filter (where l.status is not null))[1] as first_token,
                    (array_agg(l.duration_ms order by l.revision desc) filter (where l.status is not null))[1] as duration,
                    greatest($1::timestamp at time zone 'UTC', least(
                        min(l.booked_at), ($1 + 1)::timestamp at time zone 'UTC' - interval '1 microsecond')) as started_at,
                    max(l.booked_at) as booked_at
                from public.usage_logs l
                where l.day = $1 and l.account_id = k.account_id and l.turn_id = k.turn_id and l.attempt = k.attempt and l.call = k.call) as c
            where c.started_at >= $8 and c.started_at < $9 $sql$ || condition || $sql$
            order by k.account_id, k.turn_id, k.attempt, k.call
            limit $7 $sql$
            using a_day, case when a_day::text = after[1] then after[2]::uuid end, after[3]::uuid, after[4]::integer, after[5]::integer, account,
                at_most - found_rows, starts, ends;
        get diagnostics more = row_count;
        found_rows := found_rows + more;
        exit when found_rows >= at_most;
    end loop;
end $$;

-- Reports by users, newest first, after one of them. The comment is the reporter's; nothing of what is reported.
create function operator.reports(before_time timestamptz, before_id uuid, at_most integer)
    returns table (
        id uuid, created_at timestamptz, user_id uuid, persona_id uuid, message_id uuid, reason public.report_reason, comment text)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query
        select r.id, r.created_at, r.user_id, r.persona_id, r.message_id, r.reason, r.comment from public.reports r
        where before_time is null or (r.created_at, r.id) < (before_time, before_id)
        order by r.created_at desc, r.id desc limit least(at_most, 1000);
end $$;
create index idx_reports_created_at on public.reports (created_at desc, id desc);

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function gateway.figures_as_of() to coach_gateway;
grant execute on function
    operator.costs(timestamptz, timestamptz, text[], text, text), operator.latency(timestamptz, timestamptz, text[], text, text),
    operator.domains(timestamptz, timestamptz, text[], text, text), operator.providers(timestamptz, timestamptz, text[], text, text),
    operator.errors(timestamptz, timestamptz, text[], text, text), operator.usage(timestamptz, timestamptz, text[], text, text),
    operator.retention(timestamptz, timestamptz, text[], text, text),
    operator.calls(timestamptz, timestamptz, jsonb, text[], integer), operator.reports(timestamptz, uuid, integer)
    to coach_gateway;
