package primitives

import "github.com/hasp-go/hasp/backend"

// AdderGroups returns how many groups of adders there are over b.
func AdderGroups(b backend.Backend) (n int) {
	adderGroups.mu.Lock()
	defer adderGroups.mu.Unlock()
	for key := range adderGroups.groups {
		if key.backend == b {
			n++
		}
	}
	return n
}
