----------------------------- MODULE PlantedMutex -----------------------------
(* Bugs that configurations plant in module Mutex: each replaces definitions. *)
EXTENDS Mutex
LastSent(o, stamp) == cl[o].sent      \* The hold begins with the last heartbeat, whether it has reached the server or not.
AnyWaiter(s, w) == TRUE               \* A release grants to a silent waiter, too,
Whole(s, w) == Clock(s) + Worth       \* and for as long as to another.
===============================================================================
