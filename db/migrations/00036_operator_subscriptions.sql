-- What operators see of subscriptions, and what they change by hand.

-- A figure (00041) of production purchases, from their rollup (00057). Group: day; without it there is one row for the period. Every bucket until now
-- has a row.
--
-- active, trials: at the end of the bucket, or of the period where it ends within; now for the present bucket. conversions: trials that were first paid
-- for. churned: paid purchases that expired, paused or were refunded; trials_lost: trials that did. unpriced: payments and refunds without a price in
-- US dollars, which the sums lack; all of Google Play's. revenue, refunded and mrr are nanodollars; refunded is positive; mrr: the highest prices of
-- the present periods of the active renewing purchases, each for a month of 365.2425 / 12 days; NULL when none is priced. mrr_unpriced: how many it
-- lacks.
create function operator.subscriptions(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (
        bucket timestamptz, active bigint, trials bigint, new_trials bigint, new_purchases bigint, conversions bigint, renewals bigint,
        cancellations bigint, churned bigint, trials_lost bigint, refunds bigint, unpriced bigint, mrr_unpriced bigint, revenue bigint,
        refunded bigint, mrr bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set jit = off as $$
declare
    is_by_day constant boolean := 'day' = any (group_by);
    until constant timestamptz := least(ends, now());
    -- The quarter of an hour that has not ended is read from the changes.
    quarters_end constant timestamptz := date_bin('15 minutes', until, 'epoch');
    days_end constant timestamptz := least(
        date_trunc('day', case when gateway.is_whole_days(starts, ends, group_by, grain, tz) then until else starts end, 'UTC'), quarters_end);
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day'], grain, tz);
    return query
        with part as (
            select r.bucket as at, r.active, r.trials, r.mrr, r.mrr_priced, r.mrr_unpriced, r.new_trials, r.new_purchases, r.conversions,
                r.renewals, r.cancellations, r.churned, r.trials_lost, r.refunds, r.unpriced, r.revenue, r.refunded
            from gateway.subscription_rollup r
            where r.is_day and r.bucket < days_end or not r.is_day and r.bucket >= days_end and r.bucket < quarters_end
            union all
            select c.at, c.active, c.trials, c.mrr, c.mrr_priced, c.mrr_unpriced, c.new_trials, c.new_purchases, c.conversions, c.renewals,
                c.cancellations, c.churned, c.trials_lost, c.refunds, c.unpriced, c.revenue, c.refunded
            from gateway.subscription_changes c where c.at >= quarters_end and c.at < until
        ), total as (
            -- NULL: before the period.
            select case when p.at >= starts then case when is_by_day then date_trunc(grain, p.at, tz) else starts end end as start,
                sum(p.active) as active, sum(p.trials) as trials, sum(p.mrr) as mrr, sum(p.mrr_priced) as mrr_priced,
                sum(p.mrr_unpriced) as mrr_unpriced, sum(p.new_trials)::bigint as new_trials, sum(p.new_purchases)::bigint as new_purchases,
                sum(p.conversions)::bigint as conversions, sum(p.renewals)::bigint as renewals,
                sum(p.cancellations)::bigint as cancellations, sum(p.churned)::bigint as churned, sum(p.trials_lost)::bigint as trials_lost,
                sum(p.refunds)::bigint as refunds, sum(p.unpriced)::bigint as unpriced, sum(p.revenue) as revenue, sum(p.refunded) as refunded
            from part p group by 1
        ), instant as (
            -- One in each bucket at least: an hour of a time zone is never shorter than the half hour by which a clock may be set forward.
            select n as at
            from generate_series(starts, until, case grain when 'hour' then interval '30 minutes' else interval '12 hours' end) as n
            where n < until
            union all
            select until - interval '1 microsecond' where starts < until
        ), period as (
            select distinct case when is_by_day then date_trunc(grain, i.at, tz) else starts end as start from instant i
        ), shown as (
            select p.start as first, t.*,
                sum(t.active) over so_far as active_now, sum(t.trials) over so_far as trials_now, sum(t.mrr) over so_far as mrr_now,
                sum(t.mrr_priced) over so_far as priced_now, sum(t.mrr_unpriced) over so_far as unpriced_now
            from period p full join total t on t.start = p.start
            window so_far as (order by p.start nulls first)
        )
        select case when is_by_day then s.first end, coalesce(s.active_now, 0)::bigint, coalesce(s.trials_now, 0)::bigint,
            coalesce(s.new_trials, 0), coalesce(s.new_purchases, 0), coalesce(s.conversions, 0), coalesce(s.renewals, 0),
            coalesce(s.cancellations, 0), coalesce(s.churned, 0), coalesce(s.trials_lost, 0), coalesce(s.refunds, 0),
            coalesce(s.unpriced, 0), coalesce(s.unpriced_now, 0)::bigint,
            coalesce(gateway.to_nanodollars(s.revenue), 0), coalesce(gateway.to_nanodollars(s.refunded), 0),
            case when s.priced_now > 0 then gateway.to_nanodollars(s.mrr_now) end
        from shown s where s.first is not null order by s.first;
end $$;

-- Stores a grant or revocation by hand: one event of source `operator`, as gateway.fold_billing_events takes it; its `type` is the action in the
-- audit log. False without effect when there is no such user.
create function operator.change_subscription(
    user_id uuid, reason text, request_id text, folded json, bodies bytea, fold_version integer, states jsonb, jobs jsonb) returns boolean
    language plpgsql security definer set search_path = '' as $$
declare
    account uuid;
begin
    perform operator.require_operator();
    if json_array_length(folded) <> 1 or folded -> 0 ->> 'source' is distinct from 'operator' then
        raise exception 'an event of another sender' using errcode = 'invalid_parameter_value';
    end if;
    select u.account_id into account from public.users u where u.id = $1;
    if not found then
        return false;
    end if;
    perform gateway.fold_billing_events(folded, bodies, fold_version, states, jobs);
    perform gateway.append_audit(folded -> 0 ->> 'type', 'account/' || account, null, null, $2, $3);
    return true;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function
    operator.subscriptions(timestamptz, timestamptz, text[], text, text),
    operator.change_subscription(uuid, text, text, json, bytea, integer, jsonb, jsonb)
    to coach_gateway;
