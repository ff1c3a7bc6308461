-- A gateway whose clock is behind the database's named budgets of the day before as exhausted after midnight: turns were refused until the next midnight.

-- As in 00012. `exhausted`: the day on which each is, by name; a list of names, which releases before sent, refuses nothing here, and SharedBudgets refuses.
create or replace function gateway.shared_limit(exhausted jsonb, persona_id uuid, tier text, plan gateway.turn_plan) returns gateway.limit_hit
    language plpgsql stable as $$
declare
    hit gateway.limit_hit := gateway.limit_until('budget_exhausted', null, (plan.day + 1)::timestamp at time zone 'UTC', plan.moment);
begin
    -- That of the tier last: another tier lifts it alone.
    hit.shared_budget := case
        when (exhausted ->> 'installation')::date = plan.day then 'installation'
        when (exhausted ->> ('persona/' || $2))::date = plan.day then 'persona'
        when (exhausted ->> ('tier/' || $3))::date = plan.day then 'tier'
    end;
    if hit.shared_budget is null then
        return null;
    end if;
    return hit;
end $$;
