-- A retry of a message in danger that no attempt had decided (its instance crashed before the first checkpoint) was assessed anew without what it had been
-- saved with. Where no model may be called it could come out below a crisis, and then had neither the fixed text nor any other.

-- begin_turn also returns saved_risk: when no model is called, the risk with which the message is saved; NULL when one is.
select gateway.edit_function(
    'gateway.begun_answer(gateway.begun_turn,gateway.turn_plan,gateway.turn_user,gateway.turn_conversation,public.persona_versions,jsonb,text,json,'
        'integer,public.coaching_domain,jsonb)',
    $old$'earlier_risk', earlier_risk,$old$,
    $new$'earlier_risk', earlier_risk,
        'saved_risk', case when not plan.calls_model then begun.risk end,$new$);
