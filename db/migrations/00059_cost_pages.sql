-- Tokens and cost by day and by many other keys: rows like those of operator.costs, a page of them, as in operator.user_costs. Summed up are some buckets
-- after the others until the page is full, so `day` is among the keys.
create function operator.cost_page(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[])
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' set jit = off as $$
declare
    former constant timestamptz := timestamptz 'epoch' + after[1]::bigint * interval '1 microsecond';
    -- A time within each; no day is shorter than an hour, and no hour than half of one.
    buckets constant timestamptz[] := array(
        select distinct date_trunc(grain, t, tz)
        from generate_series(
            greatest(starts, former), ends - interval '15 minutes', case grain when 'hour' then interval '30 minutes' else interval '1 hour' end) as t
        -- The last one may be shorter than a step.
        union
        select date_trunc(grain, ends - interval '1 microsecond', tz) where ends > starts
        order by 1);
    -- The keys by their places in `after`, and those that are grouped by: rows of a bucket are in the order of their bytes, NULL after all others.
    texts constant text[] := array[null, 'k.model', 'k.provider', 'k.domain::text', 'k.persona_id::text', null, 'k.tier'];
    places constant integer[] := array(
        select k.place
        from unnest(array['day', 'model', 'provider', 'domain', 'persona', 'user', 'tier']) with ordinality as k (key, place)
        where k.key = any (group_by) and k.key <> 'day'
        order by k.place);
    ranks constant text := (select string_agg(format('%s collate "C"', texts[p]), ', ' order by p) from unnest(places) as p);
    is_later constant text := (
        select format('(%s) > (%s)', string_agg(format('coalesce(%s, chr(1114111)) collate "C"', texts[p]), ', ' order by p),
            string_agg(format('coalesce($6[%s], chr(1114111))', p), ', ' order by p))
        from unnest(places) as p
        having count(*) > 0);
    first integer := 1;
    length integer := 1;
    calls_of_row numeric := 1;
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
    while first <= cardinality(buckets) and missing > 0 loop
        part_start := greatest(starts, buckets[first]);
        -- Hours, which are fewer than quarters: one may belong to two buckets, and counts for the first.
        select min(h.bucket) into next_call
        from gateway.key_hours h where h.key = 'tier' and h.calls > 0 and h.bucket > part_start - interval '1 hour' and h.bucket < ends;
        exit when next_call is null;
        first := greatest(first, width_bucket(next_call, buckets));
        part_start := greatest(starts, buckets[first]);
        -- Buckets with as many calls as fill the page: each row has one at least, and the largest rollup has about a row for each. So what is read grows
        -- with the page, however uneven the buckets are.
        select greatest(1, max(c.bucket) - first + 1) into length
        from (
            select width_bucket(h.bucket, buckets) as bucket, sum(sum(h.calls)) over (order by width_bucket(h.bucket, buckets)) as calls
            from gateway.key_hours h
            where h.key = 'tier' and h.bucket > part_start - interval '1 hour' and h.bucket < coalesce(buckets[first + 8 * length], ends)
            group by 1) as c
        where c.calls <= missing * calls_of_row;
        part_end := coalesce(buckets[first + length], ends);
        groups := case when length = 1 then array_remove(group_by, 'day') else group_by end;
        return query execute
            'with k as materialized (' || gateway.figure_query(
                gateway.figure_source('usage', part_start, part_end, groups, grain, tz), array['model', 'provider', 'domain', 'persona_id', 'tier'],
                array['text', 'text', 'public.coaching_domain', 'uuid', 'text'], array_replace(groups, 'persona', 'persona_id'),
                array['calls', 'turns', 'input_tokens', 'input_known', 'cached_input_tokens', 'cached_input_known', 'output_tokens', 'output_known',
                    'cost_nanodollars', 'priced_calls', 'unpriced_turns'], grain)
            || $sql$)
                select coalesce(k.bucket, $5), k.model, k.provider, k.domain, k.persona_id, null::uuid, k.tier, k.turns,
                    case when k.input_known > 0 then k.input_tokens end, case when k.cached_input_known > 0 then k.cached_input_tokens end,
                    case when k.output_known > 0 then k.output_tokens end, case when k.priced_calls > 0 then k.cost_nanodollars end,
                    k.unpriced_turns
                from k
                where k.calls > 0 and ($6 is null or coalesce(k.bucket, $5) > $7 or $sql$ || coalesce(is_later, 'false') || $sql$)
                order by $sql$ || concat_ws(', ', case when length > 1 then 'k.bucket' end, ranks, '1') || ' limit $8'
            using part_start, part_end, grain, tz, buckets[first], after, former, missing;
        get diagnostics returned = row_count;
        missing := missing - returned;
        first := first + length;
        -- The bucket of the page before may be nearly all in it.
        if former is null or part_start > former then
            calls_of_row := 8 * calls_of_row;
        end if;
    end loop;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function operator.cost_page(timestamptz, timestamptz, text[], text, text, bigint, text[]) to coach_gateway;
