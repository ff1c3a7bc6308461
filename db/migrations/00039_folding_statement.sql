-- How rows of the ledger are added to the rollups. For each turn and day that a new row belongs to, the fold subtracts what the turn counted for before
-- and adds what it counts for now. So a rollup is always the sum over all turns of what they count for at the watermark, whatever the sizes of the
-- steps were, and folding everything at once gives the same.

-- The statement that folds: $1 and $2 are the watermarks before and after, $3 the days of new rows. A rebuild folds all rows of one day up to $2: that of
-- $3, which is a date then. It leaves out what depends on other days: activity, retention, weeks, and hours of latency that begin at half past.
create function gateway.folding_statement(is_rebuild boolean) returns text
    language plpgsql stable set search_path = '' as $$
declare
    measures constant text[] := (
        select array_agg(a.attname::text order by a.attnum) from pg_attribute a
        where a.attrelid = 'gateway.figures'::regclass and a.attnum > 0 and not a.attisdropped);
    list constant text := array_to_string(measures, ', ');
    sums constant text := (select string_agg(format('sum(d.%1$I)::bigint as %1$I', m), ', ') from unnest(measures) as m);
    any_change constant text := (select string_agg(format('sum(d.%I) <> 0', m), ' or ') from unnest(measures) as m);
    updates constant text := (select string_agg(format('%1$I = t.%1$I + excluded.%1$I', m), ', ') from unnest(measures) as m);
    -- %1$s: table, %2$s: its keys, %3$s: what they are made of, %4$s: of what. Into empty tables nothing conflicts; rows of a time come to stand together, as
    -- they do when they are folded one time after the other.
    upsert constant text := format(
        'insert into gateway.%%1$I as t (%%2$s, %1$s) select %%3$s, %2$s from %%4$s d group by %%3$s having %3$s', list, sums, any_change)
        || case when is_rebuild then ' order by %3$s' else format(' on conflict (%%2$s) do update set %1$s', updates) end;
    -- The same for other tables: their keys, and a column that is counted.
    add constant text := case when is_rebuild then '' else ' on conflict (%1$s) do update set %2$I = t.%2$I + excluded.%2$I' end;
    -- The same for histograms of `latency`: table, its keys, what they are made of, and of what more.
    add_histograms constant text :=
        'insert into gateway.%1$I as t (%2$s, turns, histogram) select %3$s, sum(l.sign), gateway.total(l.histogram) from latency l %4$s '
        'group by %3$s having gateway.total(l.histogram) <> 0'
        || case when is_rebuild then ' order by %3$s'
            else ' on conflict (%2$s) do update set turns = t.turns + excluded.turns, histogram = t.histogram + excluded.histogram' end;
    -- The hours of both shifts; a rebuild adds up those that begin at half past from quarters.
    shifts constant text := format('cross join unnest(%L::smallint[]) as h (shift)', case when is_rebuild then '{0}' else '{0, 30}' end);
    hour constant text := 'date_bin(''1 hour'', bucket, timestamptz ''epoch'' + shift * interval ''1 minute'')';
    -- What a call's rows add up to, with what is read of its first row, of its last one, of the last one in which it is known, and of the last one
    -- with an end.
    call_columns constant text := $sql$
        bool_or(l.purpose <> 'chat') as is_extra, bool_or(l.purpose = 'preview') as is_preview, bool_or(l.purpose = 'judge') as is_judge,
        bool_or(l.purpose = 'summary') as is_summary,
        max(l.tier) as tier,
        greatest(l.day::timestamp at time zone 'UTC', least(
            date_bin('15 minutes', min(l.booked_at), 'epoch'), (l.day + 1)::timestamp at time zone 'UTC' - interval '15 minutes')) as bucket,
        {first persona_id}, {first conversation_id}, {last domain}, {known provider}, {known model},
        count(l.finalized_by) > 0 as has_receipt, count(l.finalized_by) = 0 and count(l.status) = 0 as is_failed,
        sum(l.input_tokens)::bigint as input_tokens, sum(l.cached_input_tokens)::bigint as cached_input_tokens,
        sum(l.output_tokens)::bigint as output_tokens, gateway.to_nanodollars(sum(l.cost_usd)) as cost, sum(l.unpriced) as unpriced,
        {known status}, {end error_code}, {end domain_confidence}, {end domain_source}, {end time_to_first_token_ms}, {end duration_ms} $sql$;
    any_columns constant text := regexp_replace(regexp_replace(regexp_replace(regexp_replace(call_columns,
        '{first (\w+)}', '(array_agg(l.\1 order by l.revision))[1] as \1', 'g'),
        '{last (\w+)}', '(array_agg(l.\1 order by l.revision desc))[1] as \1', 'g'),
        '{known (\w+)}', '(array_agg(l.\1 order by l.revision desc) filter (where l.\1 is not null))[1] as \1', 'g'),
        '{end (\w+)}', '(array_agg(l.\1 order by l.revision desc) filter (where l.status is not null))[1] as \1', 'g');
    -- The same for calls with a record (revision 0) and a receipt, or one of them, which nearly all are: PostgreSQL sorts the rows of each array_agg.
    plain_columns constant text := regexp_replace(regexp_replace(call_columns,
        '{first (\w+)}', 'coalesce((array_agg(l.\1) filter (where l.revision = 0))[1], (array_agg(l.\1))[1]) as \1', 'g'),
        '{\w+ (\w+)}', 'max(l.\1) as \1', 'g');
    keys constant text := 'l.account_id, l.day, l.turn_id, l.attempt, l.call';
    -- A call that was not accepted has a provider alone.
    is_call constant text := 'having count(l.finalized_by) > 0 or count(l.status) > 0 or count(l.provider) > 0';
begin
    return
        -- All rows of the turns and days that new rows belong to.
        case when is_rebuild then format(
            $sql$
            with line as not materialized (
                select l.* from public.usage_logs l where l.booked_in < $2 and l.day = $3
            ), corrected as materialized (
                select distinct %s from line l
                where l.revision > 1 or l.revision = 0 and (l.domain is not null or l.provider is not null or l.model is not null or l.status is not null)
            )
            $sql$, keys)
        else $sql$
            with touched as materialized (
                select distinct l.account_id, l.day, l.turn_id from public.usage_logs l
                where l.booked_in >= $1 and l.booked_in < $2 and l.day = any ($3)
            ), line as (
                select r.* from touched t cross join lateral (
                    select l.* from public.usage_logs l
                    where l.account_id = t.account_id and l.day = t.day and l.day = any ($3) and l.turn_id = t.turn_id and l.booked_in < $2
                    offset 0) as r
            )
        $sql$ end || $sql$
        , call as ($sql$ || case
            when is_rebuild then format(
                'select 1 as sign, %1$s, %2$s from line l where (%1$s) not in (select * from corrected) group by %1$s %4$s union all '
                'select 1 as sign, %1$s, %3$s from line l where (%1$s) in (select * from corrected) group by %1$s %4$s',
                keys, plain_columns, any_columns, is_call)
            -- Once as of now, and once as of before, to be subtracted.
            else format(
                'select side.sign, %1$s, %2$s from line l join (values (1), (-1)) as side (sign) on side.sign = 1 or l.booked_in < $1 '
                'group by side.sign, %1$s %3$s', keys, any_columns, is_call) end || $sql$
        ), ranked as materialized (
            select c.*,
                -- A summary that is made after midnight is a call of the next day, and no turn of it.
                c.has_receipt and not c.is_summary and 1 = row_number() over (
                    partition by c.sign, c.account_id, c.day, c.turn_id, c.has_receipt order by c.is_summary, c.is_extra, c.attempt, c.call) as is_turn,
                c.status is not null and 1 = row_number() over (
                    partition by c.sign, c.account_id, c.day, c.turn_id, c.status is not null order by c.attempt desc, c.call) as is_message,
                c.unpriced > 0 and 1 = row_number() over (
                    partition by c.sign, c.account_id, c.day, c.turn_id, c.unpriced > 0 order by c.attempt, c.call) as is_unpriced
            from call c
        ), delta as materialized (
            select case when r.is_judge or r.is_failed then gateway.nobody() else r.account_id end as account_id,
                r.day, r.bucket, r.tier, r.provider, r.model, r.domain, r.persona_id,
                sum(r.sign * r.has_receipt::integer) as calls, sum(r.sign * r.is_turn::integer) as turns,
                sum(r.sign * (r.is_turn and r.is_preview)::integer) as preview_turns,
                coalesce(sum(r.sign * r.input_tokens) filter (where r.has_receipt), 0) as input_tokens,
                coalesce(sum(r.sign) filter (where r.has_receipt and r.input_tokens is not null), 0) as input_known,
                coalesce(sum(r.sign * r.cached_input_tokens) filter (where r.has_receipt), 0) as cached_input_tokens,
                coalesce(sum(r.sign) filter (where r.has_receipt and r.cached_input_tokens is not null), 0) as cached_input_known,
                coalesce(sum(r.sign * r.output_tokens) filter (where r.has_receipt), 0) as output_tokens,
                coalesce(sum(r.sign) filter (where r.has_receipt and r.output_tokens is not null), 0) as output_known,
                coalesce(sum(r.sign * r.cost) filter (where r.has_receipt), 0) as cost_nanodollars,
                coalesce(sum(r.sign) filter (where r.has_receipt and r.unpriced = 0 and r.cost is not null), 0) as priced_calls,
                sum(r.sign * r.is_unpriced::integer) as unpriced_turns,
                sum(r.sign * (r.status is not null)::integer) as attempts, sum(r.sign * (r.error_code is not null)::integer) as errors,
                sum(r.sign * r.is_failed::integer) as failed_calls, sum(r.sign * r.is_message::integer) as messages,
                sum(r.sign * (r.is_message and r.domain is not null)::integer) as routed,
                coalesce(sum(r.sign * round(r.domain_confidence::numeric * 1000000)) filter (where r.is_message and r.domain is not null), 0)
                    as confidence,
                sum(r.sign * (r.is_message and r.domain_source is not distinct from 'abstained')::integer) as abstentions
            from ranked r
            group by 1, r.day, r.bucket, r.tier, r.provider, r.model, r.domain, r.persona_id
        ), key_delta as materialized (
            select case
                    when grouping(d.tier) = 0 then 'tier' when grouping(d.model) = 0 then 'model' when grouping(d.domain) = 0 then 'domain'
                    else 'persona_id' end as key,
                d.day, d.bucket, d.tier, d.provider, d.model, d.domain, d.persona_id, $sql$ || sums || $sql$
            from delta d
            group by d.day, d.bucket, grouping sets ((d.tier), (d.provider, d.model), (d.domain), (d.persona_id))
        ), persona_delta as materialized (
            -- Of days and weeks: the rollups of key_delta by a persona are those of quarters and hours alone.
            select case
                    when grouping(d.tier) = 0 then 'persona_tier' when grouping(d.model) = 0 then 'persona_model'
                    when grouping(d.domain) = 0 then 'persona_domain' else 'persona_id' end as key,
                d.day, d.tier, d.provider, d.model, d.domain, d.persona_id, $sql$ || sums || $sql$
            from delta d
            group by d.day, d.persona_id, grouping sets ((d.tier), (d.provider, d.model), (d.domain), ())
        ),
        $sql$ || format(
            'quarters as (%s), hours as (%s), days as (%s), key_quarters as (%s), key_hours as (%s), key_days as (%s), persona_key_days as (%s),
            persona_quarters as (%s), persona_days as (%s), account_usage as (%s), account_day as (%s',
            format(upsert, 'usage_quarters', 'bucket, tier, provider, model, domain', 'bucket, tier, provider, model, domain', 'delta'),
            format(upsert, 'usage_hours', 'bucket, tier, provider, model, domain',
                'date_trunc(''hour'', bucket, ''UTC''), tier, provider, model, domain', 'delta'),
            format(upsert, 'usage_days', 'day, tier, provider, model, domain', 'day, tier, provider, model, domain', 'delta'),
            format(upsert, 'key_quarters', 'key, bucket, tier, provider, model, domain, persona_id',
                'key, bucket, tier, provider, model, domain, persona_id', 'key_delta'),
            format(upsert, 'key_hours', 'key, bucket, tier, provider, model, domain, persona_id',
                'key, date_trunc(''hour'', bucket, ''UTC''), tier, provider, model, domain, persona_id', 'key_delta'),
            format(upsert, 'key_days', 'key, day, tier, provider, model, domain, persona_id',
                'key, day, tier, provider, model, domain, persona_id', '(select * from key_delta where key <> ''persona_id'')'),
            format(upsert, 'key_days', 'key, day, tier, provider, model, domain, persona_id',
                'key, day, tier, provider, model, domain, persona_id', 'persona_delta'),
            format(upsert, 'persona_quarters', 'bucket, tier, provider, model, domain, persona_id',
                'bucket, tier, provider, model, domain, persona_id', 'delta'),
            format(upsert, 'persona_days', 'day, tier, provider, model, domain, persona_id',
                'day, tier, provider, model, domain, persona_id', 'delta'),
            format(upsert, 'account_usage_days', 'account_id, day, tier, provider, model, domain, persona_id',
                'account_id, day, tier, provider, model, domain, persona_id', 'delta'),
            format(upsert, 'account_days', 'account_id, day', 'account_id, day', 'delta')) || $sql$)
        , conversation as (
            insert into gateway.conversation_days as t (account_id, day, conversation_id, persona_id)
            select r.account_id, r.day, r.conversation_id, (array_agg(r.persona_id) filter (where r.persona_id is not null and not r.is_extra))[1]
            from ranked r where r.conversation_id is not null and not r.is_failed and not r.is_summary
            group by r.account_id, r.day, r.conversation_id
            -- One that began without the persona of a later turn.
            on conflict (account_id, day, conversation_id) do update set persona_id = excluded.persona_id
                where t.persona_id is null and excluded.persona_id is not null
            returning t.day, t.xmax = 0 as is_new
        ), error_quarter as (
            insert into gateway.error_quarters as t (bucket, code, provider, errors)
            select r.bucket, r.error_code, r.provider, sum(r.sign) from ranked r where r.error_code is not null
            group by 1, 2, 3 having sum(r.sign) <> 0 $sql$ || format(add, 'bucket, code, provider', 'errors') || $sql$
        ), error as (
            insert into gateway.error_days as t (day, code, provider, errors)
            select r.day, r.error_code, r.provider, sum(r.sign) from ranked r where r.error_code is not null
            group by 1, 2, 3 having sum(r.sign) <> 0 $sql$ || format(add, 'day, code, provider', 'errors') || $sql$
        ), latency as materialized (
            select r.sign, r.day, r.bucket, r.provider, r.model, r.domain, m.measure, r.sign * gateway.histogram(m.microseconds) as histogram
            from ranked r
            cross join lateral (values
                ('first_token'::gateway.latency_measure, 1000.0 * r.time_to_first_token_ms),
                ('per_token', case when r.output_tokens > 1 and r.duration_ms >= r.time_to_first_token_ms
                    then 1000.0 * (r.duration_ms - r.time_to_first_token_ms) / (r.output_tokens - 1) end),
                ('whole_turn', case when r.status = 'complete' then 1000.0 * r.duration_ms end)) as m (measure, microseconds)
            where r.has_receipt and m.microseconds is not null
        ),
        $sql$ || format(
            'latency_quarter as (%s), latency_hour as (%s), domain_latency_quarter as (%s), domain_latency_hour as (%s), latency_day as (%s)',
            format(add_histograms, 'latency_quarters', 'bucket, provider, model, measure', 'bucket, provider, model, measure', ''),
            format(add_histograms, 'latency_hours', 'shift, bucket, provider, model, measure',
                'shift, ' || hour || ', provider, model, measure', shifts),
            format(add_histograms, 'domain_latency_quarters', 'bucket, domain, measure', 'bucket, domain, measure', ''),
            format(add_histograms, 'domain_latency_hours', 'shift, bucket, domain, measure', 'shift, ' || hour || ', domain, measure', shifts),
            format(add_histograms, 'latency_days', 'day, provider, model, domain, measure', 'day, provider, model, domain, measure', ''))
        || case when is_rebuild then '' else ', persona_weeks as ('
            || format(upsert, 'key_weeks', 'key, week, tier, provider, model, domain, persona_id',
                'key, date_trunc(''week'', day::timestamp)::date, tier, provider, model, domain, persona_id', 'persona_delta') || $sql$)
        , new_day as materialized (
            -- Days on which an account writes, which it did not before. This statement does not see its own changes of account_days.
            select d.account_id, d.day from delta d where d.account_id <> gateway.nobody() group by d.account_id, d.day
            having (sum(d.turns) <> 0 or sum(d.messages) <> 0) and not exists (
                select from gateway.account_days a where a.account_id = d.account_id and a.day = d.day and (a.turns <> 0 or a.messages <> 0))
        ), visited as (
            -- Days of accounts with a new one, before (sign -1) and now.
            select v.sign, v.account_id, v.day from (select distinct n.account_id from new_day n) as a
            cross join lateral (
                select side.sign, a.account_id, d.day from gateway.account_days d cross join (values (1), (-1)) as side (sign)
                where d.account_id = a.account_id and (d.turns <> 0 or d.messages <> 0) offset 0) as v
            union all
            select 1, n.account_id, n.day from new_day n
        ), span as (
            -- The days of a window in which an account counts because of a day, and of none later.
            select v.sign, v.day as first, w.length,
                least(v.day + w.length, lead(v.day) over (partition by v.sign, v.account_id, w.length order by v.day)) as end
            from visited v cross join (values (7), (30)) as w (length)
        ), activity as (
            select s.first as day, 0 as active, case s.length when 7 then s.sign else 0 end as weekly,
                case s.length when 30 then s.sign else 0 end as monthly, 0 as conversations from span s
            union all
            select s.end, 0, case s.length when 7 then -s.sign else 0 end, case s.length when 30 then -s.sign else 0 end, 0 from span s
            union all
            select n.day, 1, 0, 0, 0 from new_day n
            union all
            select c.day, 0, 0, 0, 1 from conversation c where c.is_new
        ), active as (
            insert into gateway.activity_days as t (day, active, weekly_change, monthly_change, conversations)
            select a.day, sum(a.active), sum(a.weekly), sum(a.monthly), sum(a.conversations) from activity a group by a.day
            having sum(a.active) <> 0 or sum(a.weekly) <> 0 or sum(a.monthly) <> 0 or sum(a.conversations) <> 0
            on conflict (day) do update
                set active = t.active + excluded.active, weekly_change = t.weekly_change + excluded.weekly_change,
                    monthly_change = t.monthly_change + excluded.monthly_change, conversations = t.conversations + excluded.conversations
        ), week as (
            select distinct v.sign, v.account_id, date_trunc('week', v.day::timestamp)::date as week,
                date_trunc('week', (min(v.day) over (partition by v.sign, v.account_id))::timestamp)::date as cohort
            from visited v
        ), changed_week as materialized (
            -- Weeks of accounts that count since now (1), or no more (-1).
            select w.cohort, w.week, w.account_id, sum(w.sign) as sign from week w group by 1, 2, 3 having sum(w.sign) <> 0
        ), account_week as (
            insert into gateway.account_weeks as t (cohort, week, account_id, is_active)
            select c.cohort, c.week, c.account_id, c.sign > 0 from changed_week c
            on conflict (cohort, week, account_id) do update set is_active = excluded.is_active
        ), retention as (
            insert into gateway.retention_weeks as t (cohort, week, accounts)
            select c.cohort, c.week, sum(c.sign) from changed_week c group by 1, 2 having sum(c.sign) <> 0
            on conflict (cohort, week) do update set accounts = t.accounts + excluded.accounts
        )
        $sql$ end || 'select count(*) from ranked';
end $$;

-- Folds the rows from one watermark to another, on these days. Planning the statement takes longer than folding a few hundred rows, so a function
-- keeps its plan.
do $do$
begin
    execute format(
        'create function gateway.fold_rows(xid8, xid8, date[]) returns setof bigint '
            'language plpgsql set search_path = '''' set plan_cache_mode = force_generic_plan as %L',
        format('begin return query %s; end', gateway.folding_statement(false)));
end $do$;

revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on function gateway.folding_statement(boolean), gateway.fold_rows(xid8, xid8, date[]) from coach_gateway;
