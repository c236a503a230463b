// Package child runs a command while a lease is held. The command's processes end before the server could give the lease
// to another holder: a guard sees to that, even if this process is stopped or killed.
package child
