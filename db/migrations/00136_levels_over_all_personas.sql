-- The level of danger over all personas goes with a begun turn, too. It is what lifts the limits, but the gateway knew only the persona's: when a shared budget
-- was exhausted it rejected a user in danger with another persona, and without resources.

-- The highest level of danger stored for a user with the personas but this one.
create function gateway.level_with_others(uid uuid, persona_id uuid, moment timestamptz) returns integer
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select max(gateway.level_at(s.level, s.raised_at, moment)) from public.safety_states s
        where s.user_id = uid and s.persona_id <> $2);
end $$;

-- The turn has raised its persona's state by now: `safety_level` is the one before.
select gateway.edit_function(
    'gateway.begun_answer(gateway.begun_turn,gateway.turn_plan,gateway.turn_user,gateway.turn_conversation,public.persona_versions,jsonb,text,json,'
        'integer,public.coaching_domain,jsonb)',
    $old$'safety_level', safety_level,$old$,
    $new$'safety_level', safety_level,
        'highest_level', greatest(safety_level, case when person.was_in_danger then
            gateway.level_with_others(gateway.user_id(), coalesce(persona.persona_id, gateway.no_persona()), plan.moment) end),$new$);

revoke all on function gateway.level_with_others(uuid, uuid, timestamptz) from public, anon, authenticated;
grant execute on function gateway.level_with_others(uuid, uuid, timestamptz) to coach_gateway;
