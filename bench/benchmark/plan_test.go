package benchmark

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/report"
)

// stub has drivers and workloads of each kind. Their subjects count to one.
func stub() Program {
	ones := func(*Setup) []Subject {
		return []Subject{{Name: "hasp", Turn: func(context.Context) (Outcome, error) { return Outcome{Ops: 1}, nil }}}
	}
	opens := func(*Setup, bool) *Client { return nil }
	return Program{
		Drivers: []Driver{{Name: "remote", Open: opens}, {Name: "inside", InProcess: true, Open: opens}},
		Workloads: []Workload{
			{Name: "lock", Sizes: []int{1, 2}, Peers: []string{"setnx", Redisson}, Subjects: ones},
			{Name: "mutex", Sizes: []int{1, 4, 2}, Short: 1, Peers: []string{"setnx"}, Subjects: ones},
			{Name: "server", Sizes: []int{1}, Remote: true, Unlinked: true, Subjects: ones},
		},
	}
}

// planned returns the steps of a run with these flags.
func planned(t *testing.T, workloads, backends, links string) []step {
	t.Helper()
	o := options{
		Program: stub(), backends: backends, servers: "redis", workloads: workloads, peers: "setnx,redisson", links: links,
		sizes: "short", rounds: 1, turn: time.Millisecond, format: report.Table,
	}
	plan, err := o.plan()
	require.NoError(t, err)
	return plan
}

// TestInterrupted: the steps before an interrupt stay in the run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	plan := planned(t, "lock", "inside", "0")
	require.Len(t, plan, 2)
	ctx, interrupt := context.WithCancel(t.Context())
	plan[1].workload.Subjects = func(*Setup) []Subject {
		return []Subject{{Turn: func(ctx context.Context) (Outcome, error) {
			interrupt()
			return Outcome{}, ctx.Err()
		}}}
	}
	r := report.New(nil)
	require.ErrorIs(t, follow(ctx, plan, r, &bytes.Buffer{}), context.Canceled)
	require.Len(t, r.Rows, 1)
	require.Equal(t, 1, r.Rows[0].Size)
}

// TestWithoutRedisson: where no Java is, the rest is measured, and stderr says what is left out.
func TestWithoutRedisson(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	plan := planned(t, "lock,mutex", "remote,inside", "0")
	var errs bytes.Buffer
	versions := map[string]string{}
	withRedisson(plan, &errs, versions)
	require.Equal(t, 1, strings.Count(errs.String(), "\n"))
	require.Regexp(t, `^redisson is left out: .*Java 17 and Maven`, errs.String())
	require.Empty(t, versions)
	for _, s := range plan {
		require.Equal(t, []string{"setnx"}, s.peers)
	}
}

// TestRedissonOnlyBesideLocks: nothing is fetched for workloads that no Redisson client takes part in.
func TestRedissonOnlyBesideLocks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for workload, backend := range map[string]string{"mutex": "remote", "lock": "inside"} {
		var errs bytes.Buffer
		withRedisson(planned(t, workload, backend, "0"), &errs, map[string]string{})
		require.Empty(t, errs.String())
	}
}

// TestLinks: each workload is measured through a link once, but for those that are about the server alone, and
// what has no server.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, s := range planned(t, "all", "remote,inside", "1ms") {
		require.Equal(t, "remote", s.driver.Name)
		require.Equal(t, s.workload.Name != "server", s.link > 0, s.workload.Name)
	}
	require.Len(t, planned(t, "server", "remote", "0,1ms"), 1)
}

// TestWrongProgram: a program that lacks something is refused before it measures.
func TestWrongProgram(t *testing.T) {
	t.Parallel()
	for fault, spoil := range map[string]func(p *Program){
		"has no driver":                     func(p *Program) { p.Drivers = nil },
		`driver "remote" has no Open`:       func(p *Program) { p.Drivers[0].Open = nil },
		`two drivers "inside"`:              func(p *Program) { p.Drivers[0].Name = "inside" },
		`workload "": Name needs words`:     func(p *Program) { p.Workloads[2].Name = "" },
		`two workloads "lock"`:              func(p *Program) { p.Workloads[2].Name = "lock" },
		`workload "mutex" has no Subjects`:  func(p *Program) { p.Workloads[1].Subjects = nil },
		`workload "mutex": Short is 1 of 0`: func(p *Program) { p.Workloads[1].Sizes = nil },
		`workload "mutex": Short is 4 of 3`: func(p *Program) { p.Workloads[1].Short = 4 },
	} {
		p := stub()
		spoil(&p)
		var out, errs bytes.Buffer
		require.Equal(t, 1, p.Run(&out, &errs, []string{"-backends", "inside"}), fault)
		require.Contains(t, errs.String(), fault)
		require.Empty(t, out.String())
	}
}
