-- In figures and in the list of calls `input_tokens` and `output_tokens` were the ledger's classes of these names: what was written to caches and what was
-- reasoned stood in no column, and the same names meant something else in the `usage` event and in `me/usage`. They are totals there, too, now. The next
-- file makes the rollups anew; days whose ledger was removed keep what they have.
do $do$
declare
    changed regprocedure;
    definition text;
    class text;
begin
    foreach changed in array '{gateway.folding_statement(boolean), "operator.calls(timestamptz,timestamptz,jsonb,text[],integer)"}'::regprocedure[] loop
        definition := pg_get_functiondef(changed);
        foreach class in array '{in, out}'::text[] loop
            if definition !~ format('sum\(l\.%1$sput_tokens\)::bigint as %1$sput_tokens', class) then
                raise exception '% has no sum of %put_tokens', changed, class;
            end if;
            definition := replace(definition, format('sum(l.%sput_tokens)::bigint', class), format('sum(l.tokens_%s)::bigint', class));
        end loop;
        if changed = 'gateway.folding_statement(boolean)'::regprocedure then
            -- The time per token is that of the text: reasoning comes before the first token.
            definition := replace(
                definition, 'sum(l.tokens_out)::bigint as output_tokens',
                'sum(l.tokens_out)::bigint as output_tokens, sum(l.output_tokens)::bigint as text_tokens');
            definition := regexp_replace(definition, 'r\.output_tokens (> 1|- 1)', 'r.text_tokens \1', 'g');
        end if;
        execute definition;
    end loop;
    -- Keeps the plan of the statement, as in 00039.
    execute format(
        'create or replace function gateway.fold_rows(xid8, xid8, date[]) returns setof bigint '
            'language plpgsql set search_path = '''' set plan_cache_mode = force_generic_plan as %L',
        format('begin return query %s; end', gateway.folding_statement(false)));
end $do$;
