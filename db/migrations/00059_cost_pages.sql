-- Rows of another figure of this schema by `day`: all of the bucket of the row before (`after`: its keys), and at least `at_most` of those after it, if there
-- are so many. It reads some buckets after the others, so that a page takes as long as its rows and not as the period. For figures of which no row needs
-- another bucket's. The gateway declares the columns, sorts the rows and leaves out those up to `after`.
create function operator.figure_page(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[], figure text)
    returns setof record
    language plpgsql stable security definer set search_path = '' as $$
declare
    former constant timestamptz := timestamptz 'epoch' + after[1]::bigint * interval '1 microsecond';
    labels timestamptz[];
    edges timestamptz[];
    first integer;
    -- As if each bucket had eight rows by one key, as there are domains, 64 by two, and so on.
    length integer := greatest(1, at_most / 8 ^ cardinality(array_remove(group_by, 'day')));
    part integer;
    missing bigint := at_most;
    returned bigint;
begin
    perform operator.require_operator();
    if figure not in ('domains', 'latency', 'providers', 'safety') then
        raise exception 'unknown figure' using errcode = 'invalid_parameter_value';
    end if;
    -- Of the whole period: a bucket of a page has the edge that it has in all others.
    select b.labels, b.edges into labels, edges from gateway.buckets(starts, ends, grain, tz) b;
    first := 1 + (select count(*) from unnest(labels) as l where l < former);
    while first <= cardinality(edges) and missing > 0 loop
        -- The bucket of the page before may be nearly all in it: it does not count.
        part := case when labels[first] = former then 1 else length end;
        return query execute format('select * from operator.%I($1, $2, $3, $4, $5)', figure)
            using edges[first], coalesce(edges[first + part], ends), group_by, grain, tz;
        get diagnostics returned = row_count;
        if labels[first] is distinct from former then
            missing := missing - returned;
            length := greatest(1, least(8 * length, missing * length / greatest(1, returned)));
        end if;
        first := first + part;
    end loop;
end $$;

-- Tokens and cost by day and by many other keys: rows like those of operator.costs, a page of them, as in operator.user_costs. It sums up some buckets after
-- the others until the page is full, so `day` is among the keys.
create function operator.cost_page(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[])
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' set jit = off as $$
declare
    former constant timestamptz := timestamptz 'epoch' + after[1]::bigint * interval '1 microsecond';
    labels timestamptz[];
    edges timestamptz[];
    -- The keys by their places in `after`, and those that are grouped by: rows of a bucket are in the order of their bytes, NULL after all others.
    texts constant text[] := array[null, 'k.model', 'k.provider', 'k.domain::text', 'k.persona_id::text', null, 'k.tier'];
    places constant integer[] := array(
        select k.place
        from unnest(array['day', 'model', 'provider', 'domain', 'persona', 'user', 'tier']) with ordinality as k (key, place)
        where k.key = any (group_by) and k.key <> 'day'
        order by k.place);
    ranks constant text := (
        -- A UUID's text is in the order of its bytes, too.
        select string_agg(case p when 5 then 'k.persona_id' else format('%s collate "C"', texts[p]) end, ', ' order by p) from unnest(places) as p);
    is_later constant text := (
        select format('(%s) > (%s)', string_agg(format('coalesce(%s, chr(1114111)) collate "C"', texts[p]), ', ' order by p),
            string_agg(format('coalesce($6[%s], chr(1114111))', p), ', ' order by p))
        from unnest(places) as p
        having count(*) > 0);
    first integer;
    length integer := 1;
    calls_of_row numeric := 1;
    part_calls numeric;
    next_call timestamptz;
    part_start timestamptz;
    part_end timestamptz;
    -- A bucket alone needs no `day`.
    groups text[];
    missing bigint := at_most;
    returned bigint;
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'model', 'provider', 'domain', 'persona', 'tier'], grain, tz);
    select b.labels, b.edges into labels, edges from gateway.buckets(starts, ends, grain, tz) b;
    -- At first as if a bucket of the usual number of calls had eight rows by one key, 64 by two, and so on; personas are thousands.
    select greatest(1, sum(d.calls) / cardinality(edges) / 8 ^ (cardinality(places) + case when 'persona' = any (group_by) then 3 else 0 end)) into calls_of_row
    from gateway.key_days d
    where d.key = 'tier' and d.day >= (starts at time zone 'UTC')::date and d.day <= (ends at time zone 'UTC')::date;
    first := 1 + (select count(*) from unnest(labels) as l where l < former);
    while first <= cardinality(edges) and missing > 0 loop
        part_start := edges[first];
        -- Hours, which are fewer than quarters: one may belong to two buckets, and counts for the first.
        select min(h.bucket) into next_call
        from gateway.key_hours h where h.key = 'tier' and h.calls > 0 and h.bucket > part_start - interval '1 hour' and h.bucket < ends;
        exit when next_call is null;
        first := greatest(first, width_bucket(next_call, edges));
        part_start := edges[first];
        -- As many buckets as fill the page, with as many rows as the part before had.
        select greatest(1, max(c.bucket) - first + 1), max(c.calls) into length, part_calls
        from (
            select width_bucket(h.bucket, edges) as bucket, sum(sum(h.calls)) over w as calls, sum(sum(h.calls)) over w - sum(h.calls) as before
            from gateway.key_hours h
            where h.key = 'tier' and h.bucket > part_start - interval '1 hour' and h.bucket < coalesce(edges[first + 8 * length], ends)
            group by 1
            window w as (order by width_bucket(h.bucket, edges))) as c
        where c.before < missing * calls_of_row;
        part_end := coalesce(edges[first + length], ends);
        groups := case when length = 1 then array_remove(group_by, 'day') else group_by end;
        return query execute
            'with k as materialized (' || gateway.figure_query(
                gateway.figure_source('usage', part_start, part_end, groups, grain, tz, gateway.cost_measures()),
                array['model', 'provider', 'domain', 'persona_id', 'tier'], array['text', 'text', 'public.coaching_domain', 'uuid', 'text'],
                array_replace(groups, 'persona', 'persona_id'), gateway.cost_measures(), grain)
            || $sql$)
                select coalesce(k.bucket, $5), k.model, k.provider, k.domain, k.persona_id, null::uuid, k.tier, k.turns,
                    case when k.input_known > 0 then k.input_tokens end, case when k.cached_input_known > 0 then k.cached_input_tokens end,
                    case when k.output_known > 0 then k.output_tokens end, case when k.priced_calls > 0 then k.cost_nanodollars end,
                    k.unpriced_turns
                from k
                where k.calls > 0 and ($6 is null or coalesce(k.bucket, $5) > $7 or $sql$ || coalesce(is_later, 'false') || $sql$)
                order by $sql$ || concat_ws(', ', case when length > 1 then 'k.bucket' end, ranks, '1') || ' limit $8'
            using part_start, part_end, grain, tz, labels[first], after, former, missing;
        get diagnostics returned = row_count;
        missing := missing - returned;
        first := first + length;
        -- The bucket of the page before may be nearly all in it.
        if labels[first - length] is distinct from former then
            -- A part with few calls says little of the next ones.
            calls_of_row := least(64 * calls_of_row, greatest(1, part_calls / greatest(1, returned)));
        end if;
    end loop;
end $$;

-- Tokens and cost by persona and other keys, but not by day: rows like those of operator.costs, a page of them, as in operator.user_costs, in the order of
-- persona (NULL after all others), then of the other keys. It sums up some personas after the others until the page is full.
create function operator.persona_costs(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[])
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' set jit = off as $$
declare
    -- Texts in the order of bytes.
    ranks constant text := (
        select string_agg(format('coalesce(k.%I::text, chr(1114111)) collate "C"', k), ', ')
        from unnest(array['persona_id', 'model', 'provider', 'domain', 'tier']) as k);
    -- Rows of the weeks that the period touches, or of its days while weeks are made anew.
    next_personas constant text := case when exists (select from gateway.rollup_state s where s.pending <> '{}')
        then 'select distinct d.persona_id from ledger.key_days_persona_id d where d.day >= $2::date and d.day <= $3'
        else 'select distinct d.persona_id from ledger.key_weeks_persona_id d where d.week >= date_trunc(''week'', $2)::date and d.week <= $3' end
        || ' and d.persona_id >= $1 order by 1 limit $4';
    source gateway.figure_rows;
    -- The first persona of the part. The last one of the page before comes again.
    first uuid := after[5];
    is_of_personas boolean := after is null or first is not null;
    personas uuid[];
    -- Personas of a part: few at first, because one may have hundreds of rows.
    length bigint := greatest(1, at_most / 100);
    missing bigint := at_most;
    returned bigint;
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['model', 'provider', 'domain', 'persona', 'tier'], grain, tz);
    source := gateway.figure_source('usage', starts, ends, group_by, grain, tz, gateway.cost_measures());
    first := coalesce(first, '00000000-0000-0000-0000-000000000000');
    loop
        if is_of_personas then
            execute 'select array(' || next_personas || ')' into personas
                using first, starts at time zone 'UTC', (ends at time zone 'UTC')::date, length + 1;
        else
            personas := '{}';
        end if;
        return query execute
            'with k as materialized (' || gateway.figure_query(
                source, array['model', 'provider', 'domain', 'persona_id', 'tier'], array['text', 'text', 'public.coaching_domain', 'uuid', 'text'],
                array_replace(group_by, 'persona', 'persona_id'), gateway.cost_measures(), grain,
                case personas when '{}' then 's.persona_id is null' else format('s.persona_id = any (%L)', personas[:length]) end)
            || format(
                $sql$)
                select null::timestamptz, k.model, k.provider, k.domain, k.persona_id, null::uuid, k.tier, k.turns,
                    case when k.input_known > 0 then k.input_tokens end, case when k.cached_input_known > 0 then k.cached_input_tokens end,
                    case when k.output_known > 0 then k.output_tokens end, case when k.priced_calls > 0 then k.cost_nanodollars end,
                    k.unpriced_turns
                from k
                where k.calls > 0 and ($5 is null or (%1$s) > (coalesce($5[5], chr(1114111)), coalesce($5[2], chr(1114111)),
                    coalesce($5[3], chr(1114111)), coalesce($5[4], chr(1114111)), coalesce($5[7], chr(1114111))))
                order by %1$s limit $6$sql$, ranks)
            using starts, ends, grain, tz, after, missing;
        get diagnostics returned = row_count;
        missing := missing - returned;
        exit when missing <= 0 or personas = '{}';
        first := personas[length + 1];
        is_of_personas := first is not null;
        length := greatest(1, least(8 * length, missing * length / greatest(1, returned)));
    end loop;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.figure_page(timestamptz, timestamptz, text[], text, text, bigint, text[], text),
    operator.cost_page(timestamptz, timestamptz, text[], text, text, bigint, text[]),
    operator.persona_costs(timestamptz, timestamptz, text[], text, text, bigint, text[])
    to coach_gateway;
