package benchmark

import (
	"fmt"
	"io"
	"slices"

	"github.com/hasp-go/hasp/conformance/servers/redisson"
)

// withRedisson has the steps ready for a Redisson client, and notes its version, if any step has one. Where there can
// be none it is left out of the steps, and stderr says why.
func withRedisson(plan []step, stderr io.Writer, versions map[string]string) {
	if !slices.ContainsFunc(plan, step.redisson) {
		return
	}
	err := redisson.Prepare()
	if err == nil {
		versions[Redisson] = redisson.Version()
		return
	}
	fmt.Fprintf(stderr, "%s is left out: %v\n", Redisson, err)
	for i, s := range plan {
		plan[i].peers = slices.DeleteFunc(slices.Clone(s.peers), func(peer string) bool { return peer == Redisson })
	}
}

// redisson reports whether a Redisson client takes part.
func (s step) redisson() bool {
	return slices.Contains(s.workload.Peers, Redisson) && !s.driver.InProcess && slices.Contains(s.peers, Redisson)
}
