"""The host protocol of Waybill (docs/host-protocol.md), for a connector in Python.

    keys       Ed25519 keys, did:key, signed messages
    checks     may this call be served: everything that its token says
    store      what the host remembers: intents, results, fences, used tokens
    outcomes   what a capability returned, made fit to be sent
    decisions  what may happen to one action's record
    actions    execute, reconcile, cancel, read
    serving    HTTP: from bytes to a signed answer
    lifecycle  register, heartbeat, drain, offline
    settings   what the process is told by its environment

A connector brings its capabilities; see `actions.Capability` and ../connector.py.
"""
