-- A call that a repricing has left without a price has no cost in the list of calls either: its rows add up to 0, which is not known to be its cost.

-- As 00046 has it, but for the cost.
create or replace function operator.calls(starts timestamptz, ends timestamptz, filter jsonb, after text[], at_most integer)
    returns table (
        day date, account_id uuid, turn_id uuid, attempt integer, call integer, purpose public.usage_purpose, user_id uuid,
        conversation_id uuid, persona_id uuid, domain public.coaching_domain, tier text, provider text, model text, calls bigint,
        input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced boolean, estimated boolean,
        status public.turn_status, error_code text, error boolean, time_to_first_token_ms integer, duration_ms integer, started_at timestamptz,
        booked_at timestamptz)
    -- A page reads the first calls of a day in the order of an index; the planner would read and sort the whole day.
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = (filter ->> 'user_id')::uuid);
    is_removed constant boolean := filter ? 'user_id' and filter ->> 'user_id' is null;
    known constant jsonb := filter - 'user_id';
    -- A condition by key.
    terms constant jsonb := coalesce((
        select jsonb_object_agg(f.key, format(
            case
                when f.value is null then ' and %I is null' when f.key = 'error_code' and f.value = '*' then ' and %I is not null' else ' and %I = %L'
            end, f.key, f.value))
        from jsonb_each_text(known) as f), '{}');
    condition constant text := coalesce((select string_agg(t.value, '') from jsonb_each_text(terms) as t), '');
    -- Of the keys that a row has, that a call's record has, too, of those of rollups, and of those of gateway.usage_quarters and usage_days.
    of_row constant text := coalesce((select string_agg(t.value, '') from jsonb_each_text(terms - 'error') as t), '');
    of_record constant text := coalesce((
        select string_agg(t.value, '') from jsonb_each_text(terms) as t where t.key in ('persona_id', 'tier')), '');
    of_rollup constant text := coalesce((select string_agg(t.value, '') from jsonb_each_text(terms - 'error_code' - 'error') as t), '');
    of_quarter constant text := coalesce((
        select string_agg(t.value, '') from jsonb_each_text(terms - 'persona_id' - 'error_code' - 'error') as t), '');
    has_persona constant boolean := known ->> 'persona_id' is not null;
    has_code constant boolean := known ->> 'error_code' is not null;
    is_of_errors constant boolean := known ->> 'error' is not distinct from 'true';
    -- Days without such an error are not read.
    of_error_day constant text := case when has_code then $sql$
        and exists (
            select from (select x.day, x.code as error_code, x.provider, x.errors from gateway.error_days x) as e
            where e.day = d::date and e.errors > 0 $sql$ || (
                select string_agg(t.value, '') from jsonb_each_text(terms) as t where t.key in ('error_code', 'provider')) || ')' else '' end;
    of_removed constant text := case when is_removed then $sql$
        and l.account_id in (
            select d.account_id from gateway.account_days d
            where d.day = $1 and not exists (select from public.users u where u.account_id = d.account_id)) $sql$ else '' end;
    of_table constant text := case
        when has_persona then 'account_usage_days' when known ? 'persona_id' then 'persona_days' else 'usage_days' end;
    has_calls constant text := case when is_of_errors then 's.errors > 0' else '(s.calls > 0 or s.attempts > 0)' end;
    -- Days with calls that fit. Failed ones are nobody's in the rollups: those of an account are looked for on the days on which it has others.
    of_days constant text := case
        when account is null then format(
            'exists (select from gateway.%I s where s.day = d::date and (%s or s.failed_calls > 0) %s)', of_table, has_calls, of_rollup)
        else format(
            'exists (select from gateway.account_days s where s.account_id = $3 and s.day = d::date and (s.calls > 0 or s.attempts > 0) offset 0) '
            'and (exists (select from gateway.account_usage_days s where s.account_id = $3 and s.day = d::date and %s %s) '
            'or exists (select from gateway.usage_days s where s.day = d::date and s.failed_calls > 0 %s))', has_calls, of_rollup, of_quarter) end;
    -- Whether all that fit have failed, as those of a provider that answers nobody: their index is read, and not the whole day.
    have_failed constant text := case
        when account is null and known ?| array['provider', 'model'] then
            format('not exists (select from gateway.%I s where s.day = d::date and %s %s)', of_table, has_calls, of_rollup)
        else 'false' end;
    -- Whether some are told by sums, none of which has a code. Those of a persona can only be the judge's: rows of nobody are those, and failed calls.
    have_sums constant text := case
        when account is not null or has_code then 'false'
        when has_persona then format(
            'exists (select from gateway.account_usage_days s where s.account_id = gateway.nobody() and s.day = d::date %s)', of_rollup)
        else 'true' end;
    -- Of the rows of a call. What could name who it is of: tier, persona, domain.
    columns_and_names constant text := $sql$
        $1 as day, count(l.finalized_by) > 0 or count(l.status) > 0 or count(l.provider) > 0 as is_ended,
        count(l.finalized_by) = 0 and count(l.status) = 0 and count(l.provider) > 0 as is_failed, min(l.purpose) as purpose, %s as tier,
        (array_agg(l.conversation_id order by l.revision))[1] as conversation_id,
        %s as persona_id, %s as domain,
        (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1] as provider,
        (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1] as model,
        sum(l.input_tokens)::bigint as input_tokens, sum(l.cached_input_tokens)::bigint as cached_input_tokens,
        sum(l.output_tokens)::bigint as output_tokens, case when sum(l.unpriced) = 0 then gateway.to_nanodollars(sum(l.cost_usd)) end as cost,
        sum(l.unpriced) as unpriced,
        (array_agg(l.estimated order by l.revision desc))[1] as estimated,
        (array_agg(l.status order by l.revision desc) filter (where l.status is not null))[1] as status,
        (array_agg(l.error_code order by l.revision desc) filter (where l.status is not null))[1] as error_code,
        (array_agg(l.error_code order by l.revision desc) filter (where l.status is not null))[1] is not null
            or count(l.finalized_by) = 0 and count(l.status) = 0 and count(l.provider) > 0 as error,
        (array_agg(l.time_to_first_token_ms order by l.revision desc) filter (where l.status is not null))[1] as first_token,
        (array_agg(l.duration_ms order by l.revision desc) filter (where l.status is not null))[1] as duration,
        greatest($1::timestamp at time zone 'UTC', least(
            min(l.booked_at), ($1 + 1)::timestamp at time zone 'UTC' - interval '1 microsecond')) as started_at,
        max(l.booked_at) as booked_at $sql$;
    columns constant text := format(
        columns_and_names, 'max(l.tier)', '(array_agg(l.persona_id order by l.revision))[1]', '(array_agg(l.domain order by l.revision desc))[1]');
    nameless_columns constant text := format(columns_and_names, 'null::text', 'null::uuid', 'null::public.coaching_domain');
    -- Rows of calls after the page before.
    rows constant text := $sql$
        l.day = $1 and l.purpose <> 'judge' and ($2 is null or (l.account_id, l.turn_id, l.attempt, l.call) > ($2, $3, $4, $5)) $sql$ || of_removed;
    -- Calls with a row that fits; a correction may have changed that since.
    ended constant text := rows || ' and (l.finalized_by is not null or l.status is not null or l.provider is not null)' || of_row;
    -- The keys of calls in their order, for a page: of all, or of an account; those that failed beside those of attempts; all errors; of a persona, one account
    -- after the other; of a small part of the day, those with a row of its time, the first of which was booked when the call began.
    of_day constant text :=
        'select distinct l.account_id, l.turn_id, l.attempt, l.call from public.usage_logs l where ($6 is null or l.account_id = $6) and ' || ended;
    of_failed constant text := of_day || ' and l.finalized_by is null and l.status is null and l.provider is not null';
    of_errors constant text := of_day || ' and l.error_code is not null union ' || of_failed;
    of_persona constant text := format(
        $sql$select a.account_id, c.turn_id, c.attempt, c.call
        from (
            select distinct s.account_id from gateway.account_usage_days s
            where s.day = $1 and s.persona_id = %L and ($2 is null or s.account_id >= $2) and $6 is null
            order by 1) as a
        cross join lateral (
            select distinct l.turn_id, l.attempt, l.call from public.usage_logs l where l.account_id = a.account_id and %s order by 1, 2, 3) as c$sql$,
        known ->> 'persona_id', ended);
    of_time constant text :=
        'select distinct l.account_id, l.turn_id, l.attempt, l.call from public.usage_logs l '
        'where $6 is null and l.booked_at >= $10 and l.booked_at < $11 and ' || rows || of_record;
    -- Whether the attempt of the call `k` has a fixed text for an answer.
    is_fixed_text constant text := $sql$ (
        select count(f.provider) = 0
            and (array_agg(f.status order by f.revision desc) filter (where f.status is not null))[1] is not distinct from 'complete'
        from public.usage_logs f
        where f.day = $1 and f.account_id = k.account_id and f.turn_id = k.turn_id and f.attempt = k.attempt
            and f.call = 1) $sql$;
    -- Failed calls of such attempts, of a whole day; a correction may have given them an answer. None has a name that a filter could ask for.
    beside_fixed_texts constant text := case
        when coalesce(known ->> 'tier', known ->> 'persona_id', known ->> 'domain') is not null then ''
        else $sql$
            union all
            select c.*
            from (
                select o.account_id, o.turn_id, o.attempt, o.call
                from (
                    select distinct f.account_id, f.turn_id, f.attempt from public.usage_logs f
                    where f.day = $1 and f.call = 1 and f.status = 'complete' and f.provider is null) as f
                cross join lateral (
                    select distinct o.account_id, o.turn_id, o.attempt, o.call from public.usage_logs o
                    where o.day = $1 and o.account_id = f.account_id and o.turn_id = f.turn_id and o.attempt = f.attempt and o.call > 1
                        and o.purpose not in ('judge', 'summary') and o.finalized_by is null and o.status is null and o.provider is not null
                    ) as o) as k
            cross join lateral (
                select $sql$ || nameless_columns || $sql$ from public.usage_logs l
                where l.day = $1 and l.account_id = k.account_id and l.turn_id = k.turn_id and l.attempt = k.attempt and l.call = k.call) as c
            where c.is_failed and $2 <= $1::timestamp at time zone 'UTC' and $3 >= ($1 + 1)::timestamp at time zone 'UTC'
                and $sql$ || is_fixed_text end;
    a_day date;
    have_all_failed boolean;
    has_sums boolean;
    day_start timestamptz;
    day_end timestamptz;
    is_part boolean;
    is_small_part boolean;
    found_rows integer := 0;
    more integer;
begin
    perform operator.require_operator();
    if not array(select jsonb_object_keys(known)) <@ array['model', 'provider', 'domain', 'persona_id', 'tier', 'error_code', 'error'] then
        raise exception 'unknown filter' using errcode = 'invalid_parameter_value';
    end if;
    if filter ? 'user_id' and account is null and not is_removed then
        return;
    end if;
    for a_day, have_all_failed, has_sums in execute
        -- One day after the other, until the page is full.
        'select d::date, ' || have_failed || ', ' || have_sums || ' from generate_series($2::timestamp, $1::timestamp, interval ''-1 day'') as d where '
            || of_days || of_error_day
        using (starts at time zone 'UTC')::date, least(after[1]::date, ((ends - interval '1 microsecond') at time zone 'UTC')::date), account
    loop
        day_start := a_day::timestamp at time zone 'UTC';
        day_end := day_start + interval '1 day';
        is_part := account is null and (starts > day_start or ends < day_end);
        is_small_part := false;
        -- The errors of a day are quicker to read by their index.
        if is_part and not (has_code or is_of_errors or have_all_failed) then
            -- Whether it is quicker to read all of it than, in their order, as many of the day's as have a page of those that fit.
            execute
                'select p.calls * p.fitting <= 2 * $4 * (select sum(d.calls + d.attempts) from gateway.key_days d where d.key = ''tier'' and d.day = $3) '
                'from (select coalesce(sum(s.calls + s.attempts), 0) as calls, coalesce(sum(s.calls + s.attempts + s.failed_calls) filter (where true '
                || of_quarter || '), 0) as fitting from gateway.usage_quarters s where s.bucket >= $1 and s.bucket < $2) as p'
                into is_small_part
                using date_bin('15 minutes', greatest(starts, day_start), 'epoch'), least(ends, day_end), a_day, at_most;
        end if;
        if has_sums and (a_day::text is distinct from after[1] or after[2]::uuid = gateway.nobody()) then
            return query execute $sql$
                select $1, gateway.nobody(), null::uuid, 0, j.number::integer, j.purpose, null::uuid, null::uuid,
                    j.persona_id, j.domain, j.tier, j.provider, j.model, j.calls, j.input_tokens, j.cached_input_tokens, j.output_tokens, j.cost,
                    j.unpriced, j.estimated, null::public.turn_status, null::text, j.error, null::integer, null::integer,
                    greatest($2, $1::timestamp at time zone 'UTC'), least($3, ($1 + 1)::timestamp at time zone 'UTC')
                from (
                    select c.purpose, c.error, c.persona_id, c.domain, c.tier, c.provider, c.model, count(*) as calls,
                        sum(c.input_tokens)::bigint as input_tokens, sum(c.cached_input_tokens)::bigint as cached_input_tokens,
                        sum(c.output_tokens)::bigint as output_tokens, sum(c.cost)::bigint as cost, bool_or(c.unpriced > 0) as unpriced,
                        bool_or(c.estimated) as estimated,
                        row_number() over (order by c.error, c.tier, c.provider, c.model, c.domain, c.persona_id) as number
                    from (
                        select $sql$ || columns || $sql$ from public.usage_logs l
                        where l.day = $1 and l.purpose = 'judge'
                        group by l.account_id, l.turn_id, l.attempt, l.call
                        $sql$ || beside_fixed_texts || $sql$) as c
                    where c.is_ended and c.started_at >= $2 and c.started_at < $3 $sql$ || condition || $sql$
                    group by c.purpose, c.error, c.persona_id, c.domain, c.tier, c.provider, c.model) as j
                where j.number > $4
                order by j.number
                limit $5 $sql$
                using a_day, starts, ends, case when a_day::text = after[1] then after[5]::integer else 0 end, at_most - found_rows;
            get diagnostics more = row_count;
            found_rows := found_rows + more;
            exit when found_rows >= at_most;
        end if;
        return query execute $sql$
            select c.day, k.account_id, k.turn_id, k.attempt, k.call, c.purpose,
                (select u.id from public.users u where u.account_id = k.account_id), c.conversation_id, c.persona_id, c.domain, c.tier,
                c.provider, c.model, 1::bigint, c.input_tokens, c.cached_input_tokens, c.output_tokens, c.cost, c.unpriced > 0, c.estimated,
                c.status, c.error_code, c.error, c.first_token, c.duration, c.started_at, c.booked_at
            from ($sql$ || case
                    when is_of_errors then of_errors when have_all_failed then of_failed when is_small_part then of_time
                    when has_persona and account is null and not has_code then of_persona else of_day end || $sql$
                order by 1, 2, 3, 4) as k
            cross join lateral (
                select $sql$ || columns || $sql$ from public.usage_logs l
                where l.day = $1 and l.account_id = k.account_id and l.turn_id = k.turn_id and l.attempt = k.attempt and l.call = k.call) as c
            where c.is_ended and c.started_at >= $8 and c.started_at < $9 and (c.status is distinct from 'complete' or c.provider is not null)
                and not (c.is_failed and c.purpose <> 'summary' and $sql$ || is_fixed_text || ')' || condition || $sql$
            order by k.account_id, k.turn_id, k.attempt, k.call
            limit $7 $sql$
            using a_day, case when a_day::text = after[1] then after[2]::uuid end, after[3]::uuid, after[4]::integer, after[5]::integer, account,
                at_most - found_rows, starts, ends,
                -- What was booked before or after the day counts as its first or last moment.
                case when starts > day_start then starts else '-infinity' end, case when ends < day_end then ends else 'infinity' end;
        get diagnostics more = row_count;
        found_rows := found_rows + more;
        exit when found_rows >= at_most;
    end loop;
end $$;
