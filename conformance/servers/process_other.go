//go:build !linux

package servers

import "syscall"

// dieWithParent cannot be had here: servers outlive a test process that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
