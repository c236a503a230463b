// Package guard ends a group of processes at a time, even if the process that has set the time cannot do it any more.
//
// On Linux a guard is a small process in a session of its own. It has its own clock, which goes on while the machine is
// suspended. The process that started it sends it messages through a pipe: which group to end, and when. If that process is
// stopped, the guard acts at the last time that it has, and if that process ends, at once. Elsewhere a guard is a goroutine, and a
// stopped process cannot end the group.
package guard
