-- Billing events of all senders, and the entitlements that they fold into (CONTRACT §6). The fold itself is the gateway's: a pure function of the
-- set of a subscriber's events. It reads the events, folds them together with the new one, and writes the event and the result in one statement,
-- which has no effect if another event of the subscriber was stored in between.

-- One or more customers, connected by alias or transfer, whose events are folded together. Merged when an event connects them.
create table gateway.subscribers (
    id bigint generated always as identity primary key,
    -- Number of events.
    revision integer not null,
    -- Version of the fold that wrote the results: see BillingInbox.version.
    fold_version integer not null,
    -- The fold of all events, in the gateway's form: with it the next event is folded alone. NULL when it must be computed from the events.
    state text check (octet_length(state) <= 65536),
    last_at bigint -- The latest time of the events in milliseconds. An earlier event cannot be folded with the state.
);

create index idx_subscribers_fold_version on gateway.subscribers (fold_version);

-- Every id by which a sender knows a subscriber: app user ids, aliases, stores' customers and purchases.
create table gateway.subscriber_ids (
    id text primary key check (octet_length(id) between 1 and 255),
    subscriber bigint not null references gateway.subscribers (id)
);
create index idx_subscriber_ids_subscriber on gateway.subscriber_ids (subscriber);

-- queued: the event has no state; a job asks the store and stores what it answers as an event of its own.
create type gateway.billing_status as enum ('folded', 'ignored', 'queued');

create table gateway.billing_events (
    source text not null check (source in ('revenuecat', 'stripe', 'appstore', 'play', 'operator')),
    event_id text not null check (octet_length(event_id) between 1 and 255),
    status gateway.billing_status not null,
    -- NULL unless ignored.
    ignored_reason text check (char_length(ignored_reason) <= 1000),
    -- NULL unless folded.
    subscriber bigint references gateway.subscribers (id),
    -- The sender's name for the kind of event.
    type text,
    environment text not null check (environment in ('production', 'sandbox')),
    -- As received.
    body bytea not null check (octet_length(body) <= 262144),
    -- In the form that the fold reads.
    event text,
    -- Users and customers that the body of an ignored event names, and other UUIDs, as in gateway.subscriber_ids. NULL when the body was cut, and for
    -- other events.
    names text[],
    received_at timestamptz not null default clock_timestamp(),
    number bigint generated always as identity,
    primary key (source, event_id),
    check ((status = 'folded') = (event is not null and subscriber is not null)),
    check ((status = 'ignored') = (ignored_reason is not null))
);
create index idx_billing_events_subscriber on gateway.billing_events (subscriber) where subscriber is not null;

-- What operators count: one narrow row per production event that begins, continues or ends a purchase, or says which invoice a payment paid.
create table gateway.billing_figures (
    -- Of gateway.billing_events: rows are appended at the end of this index, which one of the senders' ids would spread over all its pages.
    event_number bigint primary key,
    source text not null,
    event_id text not null,
    occurred_at timestamptz not null,
    -- Order among events of the same instant, as the fold has it.
    rank integer not null default 0,
    -- trial, purchase, renewal, extension, cancellation, refund, expiration; payment, state, refunded_state: of a paid period that may be known already
    -- (Stripe, Play); payment_link: nothing but the payment of an invoice.
    kind text not null,
    -- Names the purchase for all its events, except for a refund of Stripe, which names the payment alone.
    purchase text not null,
    -- What Stripe's refunds are found by.
    payment text,
    invoice text,
    -- The purchase that this one replaces (Play).
    replaces text,
    store text not null,
    product text,
    -- US dollars; negative for a refund, NULL when the event has no price in them.
    price_usd numeric,
    -- The paid period. NULL when the event has none; `infinity` for purchases without end.
    period_start timestamptz,
    period_end timestamptz,
    renews boolean not null,
    -- False when automatic renewal is switched off; NULL when the event does not say it.
    will_renew boolean
);
create index idx_billing_figures_occurred_at on gateway.billing_figures (occurred_at);
create index idx_billing_figures_payment on gateway.billing_figures (payment) where payment is not null;
create index idx_billing_figures_invoice on gateway.billing_figures (invoice) where invoice is not null;
create index idx_billing_figures_replaces on gateway.billing_figures (purchase) where replaces is not null;

-- A result of the fold, beside gateway.user_entitlements. No foreign key to the user: an event can arrive before its user exists, and then applies
-- when they appear.
create table gateway.subscriptions (
    user_id uuid primary key,
    -- States with the instant from which each is true.
    timeline text not null,
    updated_at timestamptz not null default clock_timestamp()
);

-- Entitlements that are about to expire are reconciled.
create index idx_user_entitlements_access_until on gateway.user_entitlements (access_until);

-- The input of the folds of several events, a row for each in their order: whether it is stored already; those of its ids that are of removed users,
-- with what stands for them in all that follows; the subscribers that its ids connect, with their revisions; the state of the only one, if this fold
-- wrote it and no event is later; else their events. `places` has the event of each of `ids`, of which the first is 1.
--
-- Each name is looked up by a query of its own: a join could read all of them, where statistics are those of an empty table.
create function gateway.read_subscribers(
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
        select exists (select from gateway.billing_events e where e.source = a.source and e.event_id = a.id),
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

-- All events of these subscribers as a JSON array, in no order. Joined, not parsed: they are many, and PostgreSQL has no use for their members.
create function gateway.subscriber_events(subscribers bigint[]) returns text
    language plpgsql stable set search_path = '' set enable_seqscan = off as $$
begin
    return (
        select '[' || coalesce(string_agg(e.event, ','), '') || ']' from gateway.billing_events e where e.subscriber = any (subscribers));
end $$;

-- Enqueues jobs that an event causes: [{user_id, kind, payload, key, delay_seconds}].
create function gateway.enqueue_billing_jobs(jobs jsonb) returns void
    language plpgsql set search_path = '' as $$
begin
    perform gateway.enqueue_job(
        j.user_id, j.kind, j.payload, j.key, clock_timestamp() + make_interval(secs => j.delay_seconds))
    from jsonb_to_recordset(jobs) as j (user_id uuid, kind text, payload jsonb, key text, delay_seconds double precision);
end $$;

-- Stores an event without effect, and enqueues the jobs that ask its sender for the subscriber's state. If it names a removed user, without its body and
-- the jobs. Returns whether it is new.
-- names: as in gateway.billing_events.
create function gateway.ignore_billing_event(
    source text, event_id text, type text, environment text, body bytea, reason text, names text[], jobs jsonb) returns boolean
    language plpgsql set search_path = '' as $$
begin
    insert into gateway.billing_events (source, event_id, status, ignored_reason, type, environment, body, names)
    select $1, $2, 'ignored', left(reason, 1000), $3, $4, case when is_removed then '' else $5 end, case when not is_removed then $7 end
    from gateway.names_removed_user($7) as is_removed
    on conflict do nothing;
    if not found then
        return false;
    end if;
    if jobs <> '[]' and not gateway.names_removed_user($7) then
        perform gateway.enqueue_billing_jobs(jobs);
    end if;
    return true;
end $$;

-- Stores an event without state, and enqueues the jobs that ask for it. Returns whether it is new.
create function gateway.queue_billing_event(
    source text, event_id text, type text, environment text, body bytea, jobs jsonb) returns boolean
    language plpgsql set search_path = '' as $$
begin
    insert into gateway.billing_events (source, event_id, status, type, environment, body)
    values ($1, $2, 'queued', $3, $4, $5)
    on conflict do nothing;
    if not found then
        return false;
    end if;
    perform gateway.enqueue_billing_jobs(jobs);
    return true;
end $$;

-- Writes the results of a fold: [{user_id, timeline, paid: {name: milliseconds or "never"}, trials: {the same}}].
create function gateway.write_entitlements(states jsonb) returns void
    language plpgsql set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
    users uuid[] := array(select (s.value ->> 'user_id')::uuid from jsonb_array_elements(states) as s);
begin
    insert into gateway.subscriptions (user_id, timeline)
    select s.user_id, s.timeline from jsonb_to_recordset(states) as s (user_id uuid, timeline text)
    on conflict (user_id) do update set timeline = excluded.timeline, updated_at = excluded.updated_at;
    -- `not in` is hashed: thousands of users of one subscriber are not compared with each other.
    delete from gateway.user_entitlements e
    where e.user_id = any (users) and (e.user_id, e.entitlement, e.is_trial) not in (
        select s.user_id, n.key, k.is_trial
        from jsonb_to_recordset(states) as s (user_id uuid, paid jsonb, trials jsonb),
            lateral (values (false, s.paid), (true, s.trials)) as k (is_trial, access), jsonb_object_keys(k.access) as n (key));
    insert into gateway.user_entitlements (user_id, entitlement, is_trial, access_until)
    select s.user_id, n.key, k.is_trial,
        case n.value when 'never' then 'infinity' else to_timestamp(n.value::bigint / 1000.0) end
    from jsonb_to_recordset(states) as s (user_id uuid, paid jsonb, trials jsonb),
        lateral (values (false, s.paid), (true, s.trials)) as k (is_trial, access), jsonb_each_text(k.access) as n
    on conflict (user_id, entitlement, is_trial) do update set access_until = excluded.access_until;
end $$;

-- Gives a subscriber everything that others have, who are no more.
create function gateway.merge_subscribers(target bigint, others bigint[]) returns void
    language plpgsql set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    update gateway.subscriber_ids i set subscriber = target where i.subscriber = any (others);
    update gateway.billing_events e set subscriber = target where e.subscriber = any (others);
    delete from gateway.subscribers s where s.id = any (others);
    -- What a refund of Stripe is of can depend on the customer's purchases.
    insert into gateway.unfolded_figures (event_number) select e.number
    from gateway.billing_events e where e.subscriber = target and e.source = 'stripe';
end $$;

-- An event to be stored with the results of its fold, as the gateway sends it.
create type gateway.folded_event as (
    source text, event_id text, type text, environment text, event text, occurred_at bigint,
    -- Where its body stands among those of all events.
    body_start integer, body_bytes integer,
    ids text[],
    -- As they were read.
    subscribers bigint[], revisions integer[],
    -- As in gateway.subscribers.
    state text,
    -- A row of billing_figures, or NULL.
    figures jsonb,
    -- The subscriber who has the event from then on; not sent.
    target bigint);

-- Stores events with their effects, all or none: several in one transaction cost little more than one. Raises serialization_failure, to be repeated
-- from the reading on, when another event changed one of the subscribers since `revisions` were read, or bound one of the ids, or is the same; and
-- when two of these have a subscriber or an id in common.
-- folded: an array of gateway.folded_event. bodies: one after the other. states: as in gateway.write_entitlements; jobs: as above.
create function gateway.fold_billing_events(folded json, bodies bytea, fold_version integer, states jsonb, jobs jsonb) returns void
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
    on conflict do nothing;
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

-- The timeline of the user at hand; NULL when nothing is known of them.
create function gateway.subscription(user_id uuid) returns text
    language sql stable set search_path = ''
begin atomic
    select s.timeline from gateway.subscriptions s where s.user_id = $1;
end;

revoke all on gateway.subscribers, gateway.subscriber_ids, gateway.billing_events, gateway.billing_figures, gateway.subscriptions
    from anon, authenticated, coach_gateway;
alter table gateway.subscribers enable row level security;
alter table gateway.subscriber_ids enable row level security;
alter table gateway.billing_events enable row level security;
alter table gateway.billing_figures enable row level security;
alter table gateway.subscriptions enable row level security;
grant select, insert, update, delete on gateway.subscribers to coach_gateway;
grant select, insert, update on gateway.subscriber_ids, gateway.billing_events, gateway.subscriptions to coach_gateway;
grant select, insert on gateway.billing_figures to coach_gateway;
-- Webhooks are for no user at hand; what they fold into is read for one.
grant usage on sequence gateway.subscribers_id_seq to coach_gateway;
create policy subscribers_gateway on gateway.subscribers to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy subscriber_ids_gateway on gateway.subscriber_ids to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy billing_events_gateway on gateway.billing_events to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy billing_figures_gateway on gateway.billing_figures to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy subscriptions_gateway on gateway.subscriptions to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());
create policy subscriptions_gateway_select on gateway.subscriptions for select to coach_gateway using (user_id = gateway.user_id());

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.read_subscribers(text[], text[], bigint[], text[], integer[], integer), gateway.subscriber_events(bigint[]),
    gateway.enqueue_billing_jobs(jsonb),
    gateway.ignore_billing_event(text, text, text, text, bytea, text, text[], jsonb),
    gateway.queue_billing_event(text, text, text, text, bytea, jsonb),
    gateway.merge_subscribers(bigint, bigint[]), gateway.fold_billing_events(json, bytea, integer, jsonb, jsonb),
    gateway.write_entitlements(jsonb), gateway.subscription(uuid)
    to coach_gateway;
