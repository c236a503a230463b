---------------------------- MODULE PlantedRedLock ----------------------------
(* A bug that a configuration plants in module RedLock: it replaces a definition. *)
EXTENDS RedLock
TwoAreEnough(servers) == servers >= 2   \* Fewer than a majority make a holder.
===============================================================================
