---------------------------- MODULE PlantedAdopt ----------------------------
(* Bugs that configurations plant in module Adopt, to see that TLC finds them: each replaces a definition. *)
EXTENDS Adopt
SameOwner(former) == former           \* The owner is kept.
AnyOwner(former) == ~Free             \* The owner is not compared.
AnyAdopter(o) == ~Free                \* An adopter is granted whoever holds the lock.
FromAnswer(c) == now                  \* The hold begins when the answer comes.
=============================================================================
