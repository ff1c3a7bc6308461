-- Billing events of removed users. Other users' access may depend on them (a purchase is transferred to a new account), and figures count them, so they
-- stay, cut to what the fold reads, with the user's id replaced by a pseudonym. Events that arrive later get the same pseudonym.

-- A UUID of version 8 (RFC 9562 §5.8) from the keyed hash: no user has one, and the fold goes on to treat it as a user's.
create function gateway.pseudonym(user_id uuid) returns uuid
    language sql stable set search_path = ''
begin atomic
    select encode(set_byte(set_byte(h.prefix, 6, get_byte(h.prefix, 6) & 15 | 128), 8, get_byte(h.prefix, 8) & 63 | 128), 'hex')::uuid
    from (select substr(gateway.user_hash(user_id), 1, 16) as prefix) h;
end;

-- Those of the ids that are of removed users, with their pseudonyms. With its owner's rights: no role reads tombstones.
create function gateway.removed_subscriber_ids(ids text[], out removed text[], out pseudonyms text[])
    language plpgsql stable security definer set search_path = '' as $$
begin
    select coalesce(array_agg(u.id), '{}'), coalesce(array_agg(gateway.pseudonym(u.id::uuid)::text), '{}') into removed, pseudonyms
    from unnest(ids) as u (id)
    where u.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        and exists (
            select from gateway.removed_users r
            -- The pattern is tested first: only a case keeps the order.
            where r.user_hash = gateway.user_hash(case when u.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then u.id::uuid end));
end $$;

-- Whether one of the names is of a removed user, or of a subscriber who has a removed user's pseudonym: a customer of theirs.
create function gateway.names_removed_user(names text[]) returns boolean
    language plpgsql stable security definer set search_path = '' as $$
begin
    return (select r.removed <> '{}' from gateway.removed_subscriber_ids(names) r) or exists (
        select from gateway.subscriber_ids i join gateway.subscriber_ids p on p.subscriber = i.subscriber
        where i.id = any (names) and p.id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$');
end $$;

-- Ignored events are found by the users and customers that they name: their bodies can hold an id encoded.
create index idx_billing_events_names on gateway.billing_events using gin (names) where names is not null;

-- Replaces a removed user's id in everything that billing keeps, and cuts their raw bodies to the folded fields. Events without an effect that name the
-- user, or a customer of theirs, keep no body.
create function gateway.forget_subscriber(user_id uuid) returns void
    language plpgsql security definer set search_path = '' as $$
declare
    name constant text := user_id;
    pseudonym constant text := gateway.pseudonym(user_id);
    own bigint;
    own_names text[] := array[name];
begin
    perform gateway.check_caller(user_id);
    select i.subscriber into own from gateway.subscriber_ids i where i.id = name;
    if found then
        own_names := array(select i.id from gateway.subscriber_ids i where i.subscriber = own);
        -- As a fold of another event does, so that none is folded meanwhile with the events of before.
        update gateway.subscribers s set revision = s.revision + 1, state = null where s.id = own;
        -- A fold that has read the names writes them before they are replaced.
        perform gateway.lock_subscription_rollup();
        with renamed as (
            update gateway.billing_figures f set purchase = replace(f.purchase, name, pseudonym)
            from gateway.billing_events e
            where e.subscriber = own and f.event_number = e.number and f.purchase like '%' || name || '%'
            returning f.purchase)
        update gateway.subscription_changes c set purchase = r.purchase
        from (select distinct purchase from renamed) r where c.purchase = replace(r.purchase, pseudonym, name);
        update gateway.billing_events e
        set event = replace(e.event, name, pseudonym), body = convert_to(replace(e.event, name, pseudonym), 'UTF8')
        where e.subscriber = own;
        update gateway.subscriber_ids i set id = pseudonym where i.id = name;
    end if;
    update gateway.billing_events e set body = '', names = null where e.names && own_names;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.removed_subscriber_ids(text[]), gateway.names_removed_user(text[]) to coach_gateway;
