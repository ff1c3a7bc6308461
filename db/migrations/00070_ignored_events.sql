-- An event that was ignored, because it was incomplete or of a type that the gateway did not know then, has its effect when it is sent again and can be read.

create or replace function gateway.read_subscribers(
    sources text[], event_ids text[], times bigint[], ids text[], places integer[], fold_version integer)
    returns table (known boolean, removed text[], pseudonyms text[], subscribers bigint[], revisions integer[], state text, events text)
    language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
    gone text[];
    names text[];
begin
    select r.removed, r.pseudonyms into gone, names from gateway.removed_subscriber_ids($4) r;
    return query
        with name as materialized (
            select n.place, n.id, p.pseudonym, coalesce(p.pseudonym, n.id) as stored
            from unnest($4, $5) as n (id, place) cross join lateral (select names[array_position(gone, n.id)] as pseudonym) p
        ), connected as (
            select f.place, array_agg(f.subscriber order by f.subscriber) as subscribers
            from (
                select distinct n.place, (select i.subscriber from gateway.subscriber_ids i where i.id = n.stored) as subscriber
                from name n) as f
            where f.subscriber is not null
            group by f.place
        )
        select exists (
                select from gateway.billing_events e where e.source = a.source and e.event_id = a.id and e.status <> 'ignored'),
            array(select n.id from name n where n.place = a.place and n.pseudonym is not null),
            array(select n.pseudonym from name n where n.place = a.place and n.pseudonym is not null),
            coalesce(c.subscribers, '{}'), coalesce(s.revisions, '{}'), s.state,
            case when c.subscribers is null then '[]' when s.state is null then gateway.subscriber_events(c.subscribers) end
        from unnest($1, $2, $3) with ordinality as a (source, id, time, place)
        left join connected c on c.place = a.place
        left join lateral (
            select array_agg(o.revision order by o.id) as revisions,
                case when count(*) = 1 then min(o.state) filter (where o.fold_version = $6 and o.last_at <= a.time) end as state
            from gateway.subscribers o where o.id = any (c.subscribers)) as s on true
        order by a.place;
end $$;

create or replace function gateway.fold_billing_events(folded json, bodies bytea, fold_version integer, states jsonb, jobs jsonb) returns void
    -- Planned once: the planning of each call took a third of its time. Every statement finds its rows by a key, whatever the values.
    language plpgsql
    set search_path = '' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    given gateway.folded_event[] := array(select f from json_populate_recordset(null::gateway.folded_event, folded) as f);
    known constant bigint[] := array(select s.id from unnest(given) as f, unnest(f.subscribers) as s (id));
    merging gateway.folded_event;
    done integer;
begin
    if known <> '{}' then
        -- In the order of ids, so that two calls never wait for each other.
        perform from (
            select k.* from unnest(given) as f, unnest(f.subscribers, f.revisions) as k (id, revision) order by k.id) as k
        cross join lateral (select from gateway.subscribers s where s.id = k.id and s.revision = k.revision for update) as s;
        get diagnostics done = row_count;
        if done <> cardinality(known) or done <> (select count(distinct k.id) from unnest(known) as k (id)) then
            raise exception 'a subscriber changed' using errcode = 'serialization_failure';
        end if;
    end if;
    -- After the events were read.
    if (select r.removed <> '{}' from gateway.removed_subscriber_ids(array(select n.id from unnest(given) as f, unnest(f.ids) as n (id))) as r) then
        raise exception 'a user was removed' using errcode = 'serialization_failure';
    end if;
    for place in 1 .. cardinality(given) loop
        given[place].target := coalesce(given[place].subscribers[1], nextval('gateway.subscribers_id_seq'));
    end loop;
    insert into gateway.subscribers (id, revision, fold_version, state, last_at) overriding system value
    select f.target, 1, $3, f.state, f.occurred_at from unnest(given) as f where f.subscribers = '{}';
    if known <> '{}' then
        update gateway.subscribers s
        set revision = s.revision + 1, fold_version = $3, state = f.state,
            last_at = greatest(f.occurred_at, (select max(o.last_at) from gateway.subscribers o where o.id = any (f.subscribers)))
        from unnest(given) as f where s.id = any (known) and s.id = f.target;
        for merging in select f.* from unnest(given) as f where cardinality(f.subscribers) > 1 loop
            perform gateway.merge_subscribers(merging.target, merging.subscribers[2:]);
        end loop;
    end if;

    insert into gateway.subscriber_ids (id, subscriber)
    select n.id, f.target from unnest(given) as f, unnest(f.ids) as n (id) order by n.id
    on conflict do nothing;
    -- Of another subscriber, or bound meanwhile.
    if exists (
        select from unnest(given) as f, unnest(f.ids) as n (id)
        where (select i.subscriber from gateway.subscriber_ids i where i.id = n.id) <> f.target)
    then
        raise exception 'the subscriber changed' using errcode = 'serialization_failure';
    end if;
    insert into gateway.billing_events (source, event_id, status, subscriber, type, environment, body, event)
    select f.source, f.event_id, 'folded', f.target, f.type, f.environment, substr(bodies, f.body_start, f.body_bytes), f.event
    from unnest(given) as f order by f.source, f.event_id
    on conflict on constraint billing_events_pkey do update set
        status = excluded.status, ignored_reason = null, subscriber = excluded.subscriber, type = excluded.type,
        environment = excluded.environment, body = excluded.body, event = excluded.event, names = null, received_at = excluded.received_at
    where billing_events.status = 'ignored';
    get diagnostics done = row_count;
    if done <> cardinality(given) then
        raise exception 'an event was stored meanwhile' using errcode = 'serialization_failure';
    end if;

    perform gateway.write_entitlements(states);
    with figure as (
        insert into gateway.billing_figures (
            event_number, source, event_id, occurred_at, rank, kind, purchase, payment, invoice, replaces, store, product, price_usd, period_start,
            period_end, renews, will_renew)
        select (select e.number from gateway.billing_events e where e.source = f.source and e.event_id = f.event_id), f.source, f.event_id,
            to_timestamp(f.occurred_at / 1000.0), g.rank, g.kind, g.purchase, g.payment, g.invoice, g.replaces, g.store, g.product,
            g.nanodollars / 1e9, to_timestamp(g.period_start / 1000.0),
            case g.period_end when 'never' then 'infinity' else to_timestamp(g.period_end::bigint / 1000.0) end, g.renews, g.will_renew
        from unnest(given) as f cross join lateral jsonb_to_record(f.figures) as g (
            rank integer, kind text, purchase text, payment text, invoice text, replaces text, store text, product text,
            nanodollars bigint, period_start bigint, period_end text, renews boolean, will_renew boolean)
        where f.figures is not null
        returning event_number)
    insert into gateway.unfolded_figures (event_number) select f.event_number from figure f;
    if jobs <> '[]' then
        perform gateway.enqueue_billing_jobs(jobs);
    end if;
end $$;
