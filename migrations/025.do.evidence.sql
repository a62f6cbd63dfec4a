-- Supply-chain evidence of connector versions, and the gate that asks for it.
select 1;
