// Package guard starts a command, and ends its processes at a time, even if the process that has set the time cannot do it
// any more.
//
// On Linux a guard is a small process. It starts the command in the group and session of the process that started it, and
// moves to a session of its own. It is the parent of the command, and by the system's rules (a subreaper) of each process of the command whose own parent has
// ended, in whatever group or session. So it can wait for all of them, and it ends them until none is left. It has its own
// clock, which goes on while the machine is suspended. The process that started it sends it orders through a pipe, and
// reads events from another. If that process is stopped, the guard acts at the last times that it has; if that process
// ends, at once. If the guard is killed, the process that started it inherits what is left, and ends it.
//
// Elsewhere a guard is a goroutine, which ends a group of processes, and a stopped process ends nothing.
package guard

// Name is the name by which the program runs as a guard: see [Main]. Without hasp in it, since pkill -f hasp is to spare the guard.
const Name = "lock-guard"
