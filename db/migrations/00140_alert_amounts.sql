-- As in 00042, but amounts of money are decimal text, in the form that the operators' list of alerts has.
create or replace function gateway.alert_json(alert gateway.alerts) returns jsonb
    language sql stable set search_path = ''
    as $$
        select jsonb_build_object(
            'id', alert.id, 'rule', alert.rule, 'measure', alert.measure, 'severity', alert.severity,
            'state', case when alert.resolved_at is null then 'firing' else 'resolved' end,
            'value', case alert.measure when 'cost_usd' then to_jsonb(to_char(alert.value::numeric, amount)) else to_jsonb(alert.value) end,
            'threshold',
            case alert.measure when 'cost_usd' then to_jsonb(to_char(alert.threshold::numeric, amount)) else to_jsonb(alert.threshold) end,
            'started_at', to_char(alert.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'resolved_at', to_char(alert.resolved_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        -- At least six decimals, up to nine without trailing zeros.
        from (values ('FM9999999999990.000000999')) as form (amount)
    $$;
