package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/programs/internal/process"
	"github.com/hasp-go/hasp/hasptest"
)

const replicas = 3

func TestMain(m *testing.M) { os.Exit(process.Main(main, m.Run)) }

// runs counts the runs of each minute.
type runs struct {
	mu    sync.Mutex
	began map[time.Time]int
	lost  []time.Time // whose run lost the lock
	ended map[time.Time]int
}

// work never returns for the first run of stuck, unless the lock is lost.
func (r *runs) work(stuck time.Time) func(ctx context.Context, at time.Time) error {
	return func(ctx context.Context, at time.Time) error {
		r.mu.Lock()
		r.began[at]++
		first := r.began[at] == 1
		r.mu.Unlock()
		if first && at.Equal(stuck) {
			<-ctx.Done()
		} else {
			time.Sleep(10 * time.Second)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := context.Cause(ctx); err != nil {
			r.lost = append(r.lost, at)
			return err
		}
		r.ended[at]++
		return nil
	}
}

// start has three replicas run the program, until the test ends.
func (r *runs) start(t *testing.T, server *hasptest.Server, stuck time.Time) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range replicas {
		client := server.Client(nil)
		running.Go(func() { every(ctx, client, r.work(stuck)) })
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// TestEmbedded counts the runs of ten minutes, and takes the lock away from the run of the fifth.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hasptest.New(t)
		r := &runs{began: map[time.Time]int{}, ended: map[time.Time]int{}}
		first := time.Now().Truncate(time.Minute)
		stuck := first.Add(4 * time.Minute)
		r.start(t, server, stuck)
		time.Sleep(time.Until(stuck.Add(time.Second)))
		server.Lose("report")
		time.Sleep(time.Until(first.Add(9*time.Minute + 30*time.Second)))

		r.mu.Lock()
		defer r.mu.Unlock()
		require.Equal(t, []time.Time{stuck}, r.lost)
		require.Len(t, r.ended, 10)
		for at, ended := range r.ended {
			require.Equal(t, 1, ended, at)
		}
		require.Equal(t, 2, r.began[stuck], "another replica does its minute")
	})
}

// TestRedis has three processes on a real server. Each reports whether it has run the first minute that it saw.
func TestRedis(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	ran, all := map[string]int{}, 0
	for range replicas {
		cmd, err := process.Command(t.Context(), addr)
		require.NoError(t, err)
		cmd.Stderr = nil
		output, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
		}()
		line, err := bufio.NewReader(output).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "error: <nil>")
		if minute, _, found := strings.Cut(line, ": ran here: true"); found {
			minute = minute[strings.LastIndexByte(minute, ' '):]
			ran[minute]++
			all++
		}
	}
	require.NotZero(t, all)
	for minute, runs := range ran {
		require.Equal(t, 1, runs, minute)
	}
}
