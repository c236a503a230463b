------------------------------- MODULE Planted -------------------------------
(* Bugs that configurations plant in module Lease, to see that TLC finds them: each replaces a definition. *)
EXTENDS Lease
AlwaysFree(s) == TRUE        \* Grant does not look whether the lock is free.
SentAtAnswer(c) == now       \* The client counts its lease from the answer, not from the sending of its request.
AnyFence(c) == TRUE          \* The row checks the token when a holder reads, not when it writes.
ClockAlone(s) == Micros(s)   \* The server's clock alone is the next token.
\* Not a bug, but exception 2 of docs/guarantees.md: somebody deletes the key.
DeleteKey == /\ p.owner /= NoOwner /\ p' = [p EXCEPT !.owner = NoOwner, !.exp = 0]
             /\ UNCHANGED <<now, r, z, cl, res, fails, grants, top, rises>>
=============================================================================
