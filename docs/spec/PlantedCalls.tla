---------------------------- MODULE PlantedCalls ----------------------------
(* Bugs that configurations plant in module Calls, to see that TLC finds them: each replaces a definition. *)
EXTENDS Calls
RenewsLate == call.st \in {"asked", "late", "left"} \/ Trusts   \* The watchdog renews a grant whose caller has left.
SendsAgain == Is("asked")                   \* A driver sends again what was not answered.
NeverSent == call.st \in {"idle", "asked"}  \* A connection that broke counts as one that could not be had.
AnySettles == TRUE                          \* A release that has overtaken the acquire is the last one.
AnyNil(s) == TRUE                           \* Release returns nil, whatever the server answers.
=============================================================================
