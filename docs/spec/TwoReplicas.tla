---------------------------- MODULE TwoReplicas ----------------------------
(* Module Lease with a second replica: LockOptions.Replicas of one of two, and of both. Configurations replace          *)
(* GrantKept and RenewalKept of module Lease. Either replica may be promoted; then the other one follows it.            *)
(*                                                                                                                      *)
(*    Row of the table of docs/guarantees.md, section Failover     configuration               result                   *)
(*    A failover, perhaps with the former primary going on: n = 2  two_replicas                holds                    *)
(*      n = 1                                                      two_replicas_one            two holders              *)
(*    A replica is lost: n = 2                                     two_replicas_lost           no holder after a lease  *)
(*      n = 1                                                      two_replicas_lost_one       one holder               *)
(*    A replica had synced from a server without the grant: n = 2  two_replicas_synced         two holders              *)
(*                                                                                                                      *)
(* Bounds: those of module Lease, but four ticks.                                                                       *)
EXTENDS Lease
CONSTANTS Need,          \* how many of the two replicas must acknowledge
          LostFrom,      \* the tick from which on the second replica gets nothing
          Forgets        \* may the second replica sync from a server that has nothing?
VARIABLE q               \* the second replica

NeedGrant(c) == Cardinality({i \in 1..2 : <<r, q>>[i].owner = cl[c].g}) >= Need
NeedRenewal(c) == Cardinality({i \in 1..2 : <<r, q>>[i].owner = cl[c].g /\ <<r, q>>[i].exp >= cl[c].exp}) >= Need

Init2 == Init /\ q = Empty
Sync2 == /\ now < LostFrom /\ q' \in {p} \cup (IF Forgets THEN {Empty} ELSE {}) /\ q' /= q /\ UNCHANGED vars
Fail2 == /\ fails < MaxFail /\ now + FailTime <= MaxTime /\ Running
         /\ p' = q /\ z' = (IF Zombie THEN p ELSE z) /\ fails' = fails + 1 /\ now' = now + FailTime
         /\ UNCHANGED <<r, q, cl, res, grants, top, rises>>
Next2 == Sync2 \/ Fail2 \/ (Next /\ UNCHANGED q)
Spec2 == Init2 /\ [][Next2]_<<vars, q>>
-----------------------------------------------------------------------------
\* A lease after the loss of a replica, nobody holds the lock.
NoHolder == now >= LostFrom + Lease => \A c \in C : ~Believes(c)
=============================================================================
