-- Folds billing figures into their rollup.

-- Waits for the transaction that folds, and keeps others from folding until the end of this one.
create function gateway.lock_subscription_rollup() returns void
    language sql set search_path = ''
    return pg_advisory_xact_lock(hashtextextended('gateway.subscription_rollup', 0));

-- Adds changes to the rollup, times `sign`.
create function gateway.add_subscription_changes(changes gateway.subscription_changes[], sign integer) returns void
    language plpgsql set search_path = '' as $$
begin
    insert into gateway.subscription_rollup as r
    select b.is_day, b.bucket, sign * sum(c.active), sign * sum(c.trials), sign * sum(c.mrr), sign * sum(c.mrr_priced), sign * sum(c.mrr_unpriced),
        sign * sum(c.new_trials), sign * sum(c.new_purchases), sign * sum(c.conversions), sign * sum(c.renewals), sign * sum(c.cancellations),
        sign * sum(c.churned), sign * sum(c.trials_lost), sign * sum(c.refunds), sign * sum(c.unpriced), sign * sum(c.revenue), sign * sum(c.refunded)
    from unnest(changes) as c
    cross join lateral (
        values (true, date_trunc('day', c.at, 'UTC')), (false, date_bin('15 minutes', c.at, 'epoch'))) as b (is_day, bucket)
    group by b.is_day, b.bucket
    on conflict (is_day, bucket) do update set
        active = coalesce(r.active + excluded.active, r.active, excluded.active),
        trials = coalesce(r.trials + excluded.trials, r.trials, excluded.trials),
        mrr = coalesce(r.mrr + excluded.mrr, r.mrr, excluded.mrr),
        mrr_priced = coalesce(r.mrr_priced + excluded.mrr_priced, r.mrr_priced, excluded.mrr_priced),
        mrr_unpriced = coalesce(r.mrr_unpriced + excluded.mrr_unpriced, r.mrr_unpriced, excluded.mrr_unpriced),
        new_trials = coalesce(r.new_trials + excluded.new_trials, r.new_trials, excluded.new_trials),
        new_purchases = coalesce(r.new_purchases + excluded.new_purchases, r.new_purchases, excluded.new_purchases),
        conversions = coalesce(r.conversions + excluded.conversions, r.conversions, excluded.conversions),
        renewals = coalesce(r.renewals + excluded.renewals, r.renewals, excluded.renewals),
        cancellations = coalesce(r.cancellations + excluded.cancellations, r.cancellations, excluded.cancellations),
        churned = coalesce(r.churned + excluded.churned, r.churned, excluded.churned),
        trials_lost = coalesce(r.trials_lost + excluded.trials_lost, r.trials_lost, excluded.trials_lost),
        refunds = coalesce(r.refunds + excluded.refunds, r.refunds, excluded.refunds),
        unpriced = coalesce(r.unpriced + excluded.unpriced, r.unpriced, excluded.unpriced),
        revenue = coalesce(r.revenue + excluded.revenue, r.revenue, excluded.revenue),
        refunded = coalesce(r.refunded + excluded.refunded, r.refunded, excluded.refunded);
end $$;

-- Folds at most so many of the figures that are not in the rollup yet; returns how many, NULL: another instance folds. Only what is different from
-- before is written: an event changes its purchase at a few instants, and leaves the others.
create function gateway.fold_subscription_figures(at_most integer) returns integer
    language plpgsql security definer set search_path = '' set jit = off as $$
declare
    numbers bigint[];
    linked record;
    fresh gateway.subscription_changes[];
    changed gateway.subscription_changes[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('gateway.subscription_rollup', 0)) then
        return null;
    end if;
    with taken as (
        delete from gateway.unfolded_figures u
        where u.ctid = any (array(select q.ctid from gateway.unfolded_figures q limit at_most)) returning u.event_number)
    select array_agg(t.event_number) into numbers from taken t;
    if numbers is null then
        return 0;
    end if;
    select * into linked from gateway.linked_purchases(numbers);
    if linked.purchases is not null then
        fresh := array(select c from gateway.purchase_changes(linked.stores, linked.purchases) as c);
        with gone as (
            delete from gateway.subscription_changes c
            using unnest(linked.stores, linked.purchases) as n (store, purchase)
            where c.store = n.store and c.purchase = n.purchase and not exists (
                select from unnest(fresh) as f
                where f.purchase = c.purchase and f.store = c.store and f.at = c.at and f is not distinct from c)
            returning c)
        select array_agg(g.c) into changed from gone g;
        perform gateway.add_subscription_changes(changed, -1);
        with added as (
            insert into gateway.subscription_changes as c
            select f.* from unnest(fresh) as f
            where not exists (
                select from gateway.subscription_changes k where k.purchase = f.purchase and k.store = f.store and k.at = f.at)
            returning c)
        select array_agg(a.c) into changed from added a;
        perform gateway.add_subscription_changes(changed, 1);
    end if;
    return cardinality(numbers);
end $$;

-- Computes the rollup again from all figures.
create function gateway.rebuild_subscription_figures() returns void
    language plpgsql set search_path = '' set work_mem = '256MB' as $$
begin
    perform gateway.lock_subscription_rollup();
    truncate gateway.subscription_changes, gateway.subscription_rollup;
    delete from gateway.unfolded_figures;
    insert into gateway.subscription_changes
    select c.* from (
        select array_agg(n.store) as stores, array_agg(n.purchase) as purchases
        from (
            select f.store, f.purchase from gateway.billing_figures f
            union
            select f.store, f.replaces from gateway.billing_figures f where f.replaces is not null) n) as a
    cross join lateral gateway.purchase_changes(a.stores, a.purchases) as c;
    perform gateway.add_subscription_changes((select array_agg(c) from gateway.subscription_changes c), 1);
end $$;

-- Everything that was stored until then is in the rollup.
create function gateway.subscription_figures_as_of() returns timestamptz
    language sql stable security definer set search_path = ''
begin atomic
    select coalesce(min(u.queued_at), now()) from gateway.unfolded_figures u;
end;

revoke all on all functions in schema gateway from public, anon, authenticated;
revoke all on function
    gateway.lock_subscription_rollup(), gateway.add_subscription_changes(gateway.subscription_changes[], integer),
    gateway.rebuild_subscription_figures()
    from coach_gateway;
grant execute on function gateway.fold_subscription_figures(integer), gateway.subscription_figures_as_of() to coach_gateway;
