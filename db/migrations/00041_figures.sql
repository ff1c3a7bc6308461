-- Operators' figures, read from the rollups. Every function has the same arguments, so that a figure is a function here and its columns in the
-- gateway, which sorts the rows. They hash tens of thousands of rows, for which PostgreSQL's default work_mem writes files; few of them run at a time.
-- Joins compare keys by `=`, which can be hashed, with a value in place of NULL:
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

-- The buckets of a period in their order: the times by which they are called (labels), and the first quarter of an hour of the period that is in each
-- (edges). The two differ for a bucket that began before the period, and where clocks change in its first hour: a zone that repeats the hour after
-- midnight calls the day by the second one.
create function gateway.buckets(starts timestamptz, ends timestamptz, grain text, tz text, out labels timestamptz[], out edges timestamptz[])
    language sql stable set search_path = ''
begin atomic
    select array_agg(b.label order by b.label), array_agg(b.edge order by b.label)
    from (
        -- Days and weeks are searched by hours. They begin with one of these, or between two in zones that are not whole hours from UTC.
        select date_trunc(grain, t.t, tz) as label,
            case grain when 'hour' then min(t.t) else greatest(starts, least(date_trunc(grain, t.t, tz), min(t.t))) end as edge
        from (
            select greatest(starts, generate_series(
                date_bin('1 hour', starts, 'epoch'), ends - interval '1 microsecond',
                case grain when 'hour' then interval '15 minutes' else interval '1 hour' end))
            -- The last bucket may be shorter than a step.
            union all
            select ends - interval '1 microsecond') as t (t)
        where starts < ends
        group by 1) as b;
end;

-- Whether a figure can be read from UTC days.
create function gateway.is_whole_days(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text) returns boolean
    language sql immutable set search_path = ''
    return starts = date_trunc('day', starts, 'UTC') and ends = date_trunc('day', ends, 'UTC')
        and (not 'day' = any (group_by) or grain <> 'hour' and tz in ('UTC', 'Etc/UTC'));

-- The minutes after those of UTC at which hours of the time zone begin throughout the period: 0, or 30 as in India. NULL: others, or some of each, as
-- through the half-hour change of Lord Howe Island.
create function gateway.hour_shift(starts timestamptz, ends timestamptz, tz text) returns integer
    language sql stable set search_path = ''
begin atomic
    select case when count(*) = 1 and min(s.shift) in (0, 30) then min(s.shift) end
    from (
        select distinct (60 - extract(minute from t at time zone tz)::integer) % 60 as shift
        -- The end, too: clocks may change within less than a day.
        from (
            select generate_series(date_trunc('hour', starts, 'UTC'), ends, interval '1 day')
            union all
            select date_trunc('hour', ends - interval '1 microsecond', 'UTC')) as s (t)) as s;
end;

-- The table of a rollup's rows by this key (NULL: by all keys), with its schema: a partition where there are some. PostgreSQL gathers statistics of
-- partitions by itself, and none of the whole.
create function gateway.rollup_table(rollup text, key text) returns text
    language sql immutable set search_path = ''
    return case
        when key is null then format('gateway.%I', rollup)
        when key like 'persona%' then format('ledger.%I', rollup || '_' || key)
        else format('ledger.%I', rollup || '_others') end;

-- Rows of a rollup: its table, with the schema, and their condition. Without a table: none are kept.
create type gateway.rollup_rows as (table_name text, condition text);

-- The rows of a rollup from one time to another, as text for a query: these keys and measures, in a bucket that begins at `bucket`. From a later to
-- an earlier time they are negative; NULL when both are one. time_column: bucket, or the day or week, which are dates.
create function gateway.signed_rows(
    source gateway.rollup_rows, time_column text, keys text[], measures text[], bucket timestamptz, from_time timestamptz, to_time timestamptz)
    returns text
    language sql stable set search_path = ''
    return case when from_time <> to_time then format(
        'select %L::timestamptz as bucket, %s from %s where %s and %5$I >= %6$L and %5$I < %7$L', bucket,
        concat_ws(', ', (select string_agg(quote_ident(k), ', ') from unnest(keys) as k),
            (select string_agg(format(case when from_time < to_time then '%I' else '-%1$I as %1$I' end, m), ', ') from unnest(measures) as m)),
        source.table_name, source.condition, time_column,
        case when time_column = 'bucket' then least(from_time, to_time)::text else (least(from_time, to_time) at time zone 'UTC')::date::text end,
        case when time_column = 'bucket' then greatest(from_time, to_time)::text else (greatest(from_time, to_time) at time zone 'UTC')::date::text end) end;

-- The sums of a period without days, as text for a query: the UTC days, or weeks, that come nearest to it, and what is missing at each end or is
-- too much there, which is subtracted. NULL: the nearest days are none.
create function gateway.period_rows(
    quarters gateway.rollup_rows, days gateway.rollup_rows, weeks gateway.rollup_rows, keys text[], measures text[], starts timestamptz, ends timestamptz)
    returns text
    language plpgsql stable set search_path = '' as $$
declare
    first_day constant timestamptz := date_trunc('day', starts + interval '12 hours', 'UTC');
    last_day constant timestamptz := date_trunc('day', ends + interval '12 hours', 'UTC');
    first_week constant timestamptz := date_trunc('week', first_day + interval '3 days', 'UTC');
    last_week constant timestamptz := date_trunc('week', last_day + interval '3 days', 'UTC');
    -- A week has about as many rows as two days.
    is_by_week constant boolean := weeks.table_name is not null and first_week < last_week
        and (last_week - first_week) * 2 / 7 + greatest(first_day - first_week, first_week - first_day) + greatest(last_day - last_week, last_week - last_day)
            < last_day - first_day;
    parts text[];
begin
    if first_day >= last_day then
        return null;
    end if;
    parts := case when is_by_week then array[
            gateway.signed_rows(weeks, 'week', keys, measures, starts, first_week, last_week),
            gateway.signed_rows(days, 'day', keys, measures, starts, first_day, first_week),
            gateway.signed_rows(days, 'day', keys, measures, starts, last_week, last_day)]
        else array[gateway.signed_rows(days, 'day', keys, measures, starts, first_day, last_day)] end || array[
        gateway.signed_rows(quarters, 'bucket', keys, measures, starts, starts, first_day),
        gateway.signed_rows(quarters, 'bucket', keys, measures, starts, last_day, ends)];
    return '(' || array_to_string(parts, ' union all ') || ')';
end $$;

-- The parts of UTC days by which the buckets of a period differ from these days: each day that is whole in the period belongs to the bucket of its noon,
-- and a part of it that lies in another bucket is added there and subtracted at `noon`. Of days that are not whole in the period all is added, and `noon`
-- is NULL. edges: of gateway.buckets.
create function gateway.parts_of_days(starts timestamptz, ends timestamptz, edges timestamptz[])
    returns table (noon timestamptz, from_time timestamptz, to_time timestamptz)
    language sql stable set search_path = ''
begin atomic
    select d.noon, p.from_time, p.to_time
    from generate_series(date_trunc('day', starts, 'UTC'), ends - interval '1 microsecond', interval '24 hours') as t
    cross join lateral (
        select case when t >= starts and t + interval '24 hours' <= ends then t + interval '12 hours' end as noon,
            greatest(starts, t) as first, least(ends, t + interval '24 hours') as last) as d
    cross join lateral (select width_bucket(coalesce(d.noon, d.first), edges) as place) as b
    cross join lateral (values
        (d.first, case when d.noon is null then least(edges[b.place + 1], d.last) else edges[b.place] end),
        (edges[b.place + 1], d.last)) as p (from_time, to_time)
    where p.from_time < p.to_time;
end;

-- The rows of a figure by day or week, as text for a query: those of UTC days, and the sums of the parts by which its buckets differ from them. A bucket is
-- labelled by a time that is in it. keys and measures are columns of all tables.
create function gateway.day_rows(
    days gateway.rollup_rows, hours gateway.rollup_rows, quarters gateway.rollup_rows, keys text[], measures text[],
    starts timestamptz, ends timestamptz, edges timestamptz[]) returns text
    language plpgsql stable set search_path = '' as $$
declare
    columns constant text := (select string_agg(quote_ident(c), ', ') from unnest(keys || measures) as c);
    groups constant text := concat_ws(', ', 'noon', 'from_time', (select string_agg(quote_ident(k), ', ') from unnest(keys) as k));
    sums constant text := concat_ws(
        ', ', groups, (select string_agg(format('gateway.total(%1$I) as %1$I', m), ', ') from unnest(measures) as m));
    negative constant text := concat_ws(
        ', ', (select string_agg(quote_ident(k), ', ') from unnest(keys) as k), (select string_agg(format('-%I', m), ', ') from unnest(measures) as m));
    -- Parts of days that begin and end with an hour, and others.
    parts text[];
begin
    select array_agg(s.rows) into parts
    from (
        select format(
            'select p.noon, p.from_time, r.* from unnest(%L::timestamptz[], %L::timestamptz[], %L::timestamptz[]) as p (noon, from_time, to_time) '
            -- One part after the other, where the planner would read the whole table.
            'cross join lateral (select %s from %s where %s and bucket >= p.from_time and bucket < p.to_time offset 0) as r',
            array_agg(p.noon), array_agg(p.from_time), array_agg(p.to_time), columns,
            case when p.is_hours then hours.table_name else quarters.table_name end,
            case when p.is_hours then hours.condition else quarters.condition end) as rows
        from (
            select d.noon, h.from_time, h.to_time, h.is_hours
            from gateway.parts_of_days(starts, ends, edges) as d
            cross join lateral (
                select case when hours.table_name is null then d.to_time else date_bin('1 hour', d.from_time + interval '45 minutes', 'epoch') end as first,
                    date_bin('1 hour', d.to_time, 'epoch') as last) as w
            cross join lateral (values
                (d.from_time, least(w.first, d.to_time), false),
                (w.first, w.last, true),
                (greatest(w.first, w.last), d.to_time, false)) as h (from_time, to_time, is_hours)
            where h.from_time < h.to_time) as p
        group by p.is_hours) as s;
    return concat(
        '(', 'with part as materialized (select ' || sums || ' from (' || array_to_string(parts, ' union all ') || ') as r group by ' || groups || ') ',
        'select (day + time ''12:00'') at time zone ''UTC'' as bucket, ', columns, ' from ', days.table_name, ' where ', days.condition,
        format(' and day >= %L and day < %L',
            (date_trunc('day', starts + interval '24 hours' - interval '1 microsecond', 'UTC') at time zone 'UTC')::date,
            (date_trunc('day', ends, 'UTC') at time zone 'UTC')::date),
        case when parts is not null then format(
            ' union all select from_time, %s from part union all select noon, %s from part where noon is not null', columns, negative) end,
        ')');
end $$;

-- What the rows of a figure are: UTC days, in `day`, a date; or in `bucket`, a time stamp: whole hours; hours, and quarters of those that the period
-- splits; or parts of any length.
create type gateway.figure_unit as enum ('day', 'hour', 'split_hour', 'part');

-- The rows that a figure sums up: a query in parentheses, as text.
create type gateway.figure_rows as (query text, unit gateway.figure_unit);

-- The rollup that a figure is read from: usage, latency, domain_latency or error, by the fewest keys and the largest buckets that the arguments allow;
-- a period without days from the nearest UTC days. measures: those of usage, or of latency, that are wanted.
create function gateway.figure_source(
    family text, starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, measures text[]) returns gateway.figure_rows
    language plpgsql stable set search_path = '' as $$
declare
    is_latency constant boolean := family like '%latency';
    is_by_day constant boolean := 'day' = any (group_by);
    is_by_hour constant boolean := is_by_day and grain = 'hour';
    -- Latency alone is kept by hours of two shifts.
    zone_shift constant integer := gateway.hour_shift(starts, ends, tz);
    shift constant integer := case when is_latency and is_by_hour then coalesce(zone_shift, 0) else 0 end;
    first_hour constant timestamptz := timestamptz 'epoch' + shift * interval '1 minute';
    last_hour constant timestamptz := date_bin('1 hour', ends, first_hour);
    keys constant text[] := array(
        select distinct case k when 'persona' then 'persona_id' else k end from unnest(array_remove(group_by, 'day')) as k);
    key constant text := case
        when family <> 'usage' then null
        when keys <@ array['tier'] then 'tier'
        when keys <@ array['provider', 'model'] then 'model'
        when keys <@ array['domain'] then 'domain'
        when keys <@ array['persona_id'] then 'persona_id' end;
    -- Of days and weeks alone.
    pair constant text := case
        when family <> 'usage' or key is not null then null
        when keys <@ array['persona_id', 'tier'] then 'persona_tier'
        when keys <@ array['persona_id', 'provider', 'model'] then 'persona_model'
        when keys <@ array['persona_id', 'domain'] then 'persona_domain' end;
    -- Kept by weeks, too.
    weekly constant text := case when 'persona_id' = any (keys) then coalesce(pair, key) end;
    -- While some days are made anew, weeks are not the sums of their days.
    is_rebuilt constant boolean := weekly is not null and exists (select from gateway.rollup_state s where s.pending <> '{}');
    rollup constant text := case
        when key is not null then 'key' when family = 'usage' and 'persona_id' = any (keys) then 'persona' else family end;
    condition constant text := case
        when key is not null then format('key = %L', key)
        when is_latency then format('measure = any (%L) and turns <> 0', measures) else 'true' end;
    -- Latency by domain is kept by days with all keys.
    days constant gateway.rollup_rows := row(
        gateway.rollup_table(case when pair is not null then 'key' when is_latency then 'latency' else rollup end || '_days', coalesce(pair, key)),
        case when pair is not null then format('key = %L', pair) else condition end);
    hours constant gateway.rollup_rows := row(
        case when rollup not in ('persona', 'error') then gateway.rollup_table(rollup || '_hours', key) end,
        case when is_latency then format('shift = %s and %s', shift, condition) else condition end);
    quarters constant gateway.rollup_rows := row(gateway.rollup_table(rollup || '_quarters', key), condition);
    weeks constant gateway.rollup_rows := row(
        case when weekly is not null and not is_rebuilt then gateway.rollup_table('key_weeks', weekly) end, days.condition);
    period text;
begin
    if family = 'usage' and not is_by_day and (weekly is not null or not gateway.is_whole_days(starts, ends, group_by, grain, tz)) then
        period := gateway.period_rows(quarters, days, weeks, keys, measures, starts, ends);
        if period is not null then
            return row(period, 'part')::gateway.figure_rows;
        end if;
    end if;
    if gateway.is_whole_days(starts, ends, group_by, grain, tz) then
        return row(format('(select * from %s where %s)', days.table_name, days.condition), 'day')::gateway.figure_rows;
    elsif not is_by_hour then
        return row(gateway.day_rows(
            days, hours, quarters, keys || case when is_latency then array['measure'] else '{}' end,
            case when is_latency then array['turns', 'histogram'] when family = 'error' then array['errors'] else measures end,
            starts, ends, case when is_by_day then (select b.edges from gateway.buckets(starts, ends, grain, tz) b) else array[starts] end),
            'part')::gateway.figure_rows;
    elsif hours.table_name is null or shift is distinct from zone_shift then
        return row(format('(select * from %s where %s)', quarters.table_name, quarters.condition), 'part')::gateway.figure_rows;
    elsif starts = date_bin('1 hour', starts, first_hour) and ends = last_hour then
        return row(format('(select * from %s where %s)', hours.table_name, hours.condition), 'hour')::gateway.figure_rows;
    end if;
    -- Hours that are split by the period's begin or end.
    return row(format(
        '(select * from %s where %s and bucket < %L union all select * %s from %s where %s and (bucket < %L or bucket >= %3$L))', hours.table_name,
        hours.condition, last_hour,
        -- Quarters have no percentiles, and no shift.
        case when is_latency then ', null, null' end, quarters.table_name, quarters.condition,
        date_bin('1 hour', starts + interval '59 minutes', first_hour)), 'split_hour')::gateway.figure_rows;
end $$;

-- A query of a rollup, as text: bucket, keys by name (NULL where not grouped by), sums of measures, and `more`: aggregates over its rows `s`. The query's
-- parameters are starts, ends, grain and tz. condition: of the rows.
create function gateway.figure_query(
    source gateway.figure_rows, keys text[], types text[], group_by text[], measures text[], grain text, condition text default 'true',
    more text default null) returns text
    language plpgsql immutable set search_path = '' as $$
declare
    is_days constant boolean := source.unit = 'day';
    bucket constant text := case
        when not 'day' = any (group_by) then null
        when is_days and grain = 'day' then 's.day'
        when is_days then 'date_trunc($3, s.day::timestamp)'
        when grain = 'hour' and source.unit = 'hour' then 's.bucket'
        -- A search among the buckets takes less time than a join.
        else 'w.labels[width_bucket(s.bucket, w.edges)]' end;
    columns constant text := (
        select string_agg(case when k.key = any (group_by) then format('s.%1$I', k.key) else format('null::%s as %I', k.type, k.key) end, ', ')
        from unnest(keys, types) as k (key, type));
    grouped constant text := (select string_agg(format('s.%I', k), ', ') from unnest(keys) as k where k = any (group_by));
    groups constant text := concat_ws(', ', bucket, grouped);
    sums constant text := (select string_agg(format('gateway.total(s.%1$I) as %1$I', m), ', ') from unnest(measures) as m);
begin
    return format(
        'select %s as bucket, %s from %s s %s where $3 is not null and $4 is not null and %s and %s %s',
        case when bucket is null then 'null::timestamptz' when is_days then bucket || '::timestamp at time zone ''UTC''' else bucket end,
        concat_ws(', ', columns, sums, more), source.query,
        case when bucket like 'w.%' then 'cross join gateway.buckets($1, $2, $3, $4) w' else '' end,
        case when is_days then 's.day >= ($1 at time zone ''UTC'')::date and s.day < ($2 at time zone ''UTC'')::date'
            else 's.bucket >= $1 and s.bucket < $2' end,
        condition, case when groups <> '' then 'group by ' || groups else '' end);
end $$;

-- What operator.costs and its pages sum up.
create function gateway.cost_measures() returns text[]
    language sql immutable set search_path = ''
    return array['calls', 'turns', 'input_tokens', 'input_known', 'cached_input_tokens', 'cached_input_known', 'output_tokens', 'output_known',
        'cost_nanodollars', 'priced_calls', 'unpriced_turns'];

-- Tokens and cost. Groups: day, model, provider, domain, persona, tier; by user: operator.user_costs. Only calls with a receipt count; corrections
-- count in the call they correct. A cost is the sum of the priced calls; unpriced_turns is the number of turns of which it lacks a call.
create function operator.costs(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'model', 'provider', 'domain', 'persona', 'tier'], grain, tz);
    return query execute
        $sql$select f.bucket, f.model, f.provider, f.domain, f.persona_id, null::uuid, f.tier, f.turns,
                case when f.input_known > 0 then f.input_tokens end, case when f.cached_input_known > 0 then f.cached_input_tokens end,
                case when f.output_known > 0 then f.output_tokens end, case when f.priced_calls > 0 then f.cost_nanodollars end,
                f.unpriced_turns
            from ($sql$ || gateway.figure_query(
                gateway.figure_source('usage', starts, ends, group_by, grain, tz, gateway.cost_measures()),
                array['model', 'provider', 'domain', 'persona_id', 'tier'], array['text', 'text', 'public.coaching_domain', 'uuid', 'text'],
                array_replace(group_by, 'persona', 'persona_id'), gateway.cost_measures(), grain)
            || ') as f where f.calls > 0'
        using starts, ends, grain, tz;
end $$;

-- Attempts that ended with an error. Groups: day, code, provider. share: of all attempts of the bucket.
create function operator.errors(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (bucket timestamptz, code text, provider text, errors bigint, share numeric)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' as $$
declare
    -- Of all attempts.
    groups constant text[] := array(select 'day' where 'day' = any (group_by));
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'code', 'provider'], grain, tz);
    return query execute
        'with f as materialized (' || gateway.figure_query(
            gateway.figure_source('error', starts, ends, group_by, grain, tz, null), array['code', 'provider'], array['text', 'text'], group_by,
            array['errors'], grain)
        || '), a as materialized (' || gateway.figure_query(
            gateway.figure_source('usage', starts, ends, groups, grain, tz, '{attempts}'), array['tier'], array['text'], groups, '{attempts}', grain)
        || ') select f.bucket, f.code, f.provider, f.errors, round(f.errors::numeric / nullif(a.attempts, 0), 4)
        from f left join a on coalesce(a.bucket, ''-infinity'') = coalesce(f.bucket, ''-infinity'') where f.errors > 0'
        using starts, ends, grain, tz;
end $$;

-- Every row that was booked before is in the figures; NULL: not known yet.
create function gateway.figures_as_of() returns timestamptz
    language sql stable security definer set search_path = ''
begin atomic
    select s.as_of from gateway.rollup_state s;
end;

create index idx_users_account_id on public.users (account_id);

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function
    gateway.figures_as_of(),
    operator.costs(timestamptz, timestamptz, text[], text, text), operator.errors(timestamptz, timestamptz, text[], text, text)
    to coach_gateway;
