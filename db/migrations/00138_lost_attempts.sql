-- A cursor beyond the answer of a turn's later attempt was taken for one in the text of an earlier attempt that a crash had lost, also when each of these
-- had ended under its owner, who lets no client have more text than it saves.

-- Whether recovery ended an attempt before the current one, so that a client may have text of it. NULL: no attempt has begun since this column was added.
alter table public.turns add column lost_attempt boolean;

-- Whether an earlier attempt of a turn was lost, or may have been.
create function gateway.has_lost_attempt(uid uuid, turn_id uuid) returns boolean
    language sql stable set search_path = ''
    as $$ select coalesce(t.lost_attempt, t.attempt > 1) from public.turns t where t.user_id = gateway.user_id() and t.id = $2 $$;

revoke all on function gateway.has_lost_attempt(uuid, uuid) from public, anon, authenticated;
grant execute on function gateway.has_lost_attempt(uuid, uuid) to coach_gateway;

select gateway.edit_function(
    'gateway.restart_turn(uuid,public.turns,gateway.turn_plan)',
    'error_code = null, finalized_by = null,',
    $new$error_code = null, finalized_by = null,
        lost_attempt = t.finalized_by is not distinct from 'recovery' or gateway.has_lost_attempt(uid, t.id),$new$);

-- load_turn and begin_turn also return has_lost_attempt.
select gateway.edit_function(
    'gateway.load_turn(uuid,uuid)',
    $old$'ended_by_crash', $old$,
    $new$'has_lost_attempt', t.attempt > 1 and gateway.has_lost_attempt(uid, t.id),
            'ended_by_crash', $new$);
select gateway.edit_function(
    'gateway.begun_answer(gateway.begun_turn,gateway.turn_plan,gateway.turn_user,gateway.turn_conversation,public.persona_versions,jsonb,text,json,'
        'integer,public.coaching_domain,jsonb)',
    $old$'day', plan.day,$old$,
    $new$'has_lost_attempt', begun.attempt > 1 and gateway.has_lost_attempt(gateway.user_id(), begun.id),
        'day', plan.day,$new$);
