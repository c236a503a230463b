package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
	"github.com/hasp-go/hasp/primitives"
)

// lastTimeout is how long the program waits for the answer to a release, and then for the client's last requests.
const lastTimeout = time.Second

// safeLease is the shortest lease that survives a short outage.
const safeLease = 3 * time.Second

// runner runs a command under a lease, as lock, read, write, slot, once and elect do.
type runner struct {
	*program
	lease time.Duration
	grace time.Duration
	short time.Duration // the grace if the lease ends
	shell string
	code  int           // if not acquired
	wait  time.Duration // how long, from the start on
	until time.Time     // the end of that

	name    string
	args    []string
	path    string
	shared  bool        // several owners hold it at once, so a token is no fence
	patient bool        // it waits for a server that is away, too
	ran     bool        // the command has begun once
	runs    atomic.Bool // the command does
	opens   atomic.Bool // a connection
}

// addRunner adds the flags that all of them have.
func (p *program) addRunner(c *cobra.Command) *runner {
	r := &runner{program: p, lease: 30 * time.Second, grace: 10 * time.Second}
	c.Use += " NAME [flags] -- COMMAND [ARGUMENT...]"
	f := c.Flags()
	spanVar(c, &r.lease, "lease", "30s", "how long others wait if this host fails")
	spanVar(c, &r.grace, "grace", "10s",
		"from SIGTERM to SIGKILL, for a command that is to end; if the lease ends, at most a third of it, and by default a tenth")
	f.StringVarP(&r.shell, "command", "c", "", "a command for sh -c, instead of one behind --")
	c.Args = func(c *cobra.Command, args []string) error {
		if r.short = r.grace; !f.Changed("grace") {
			r.short = min(r.grace, r.lease/10)
		}
		return r.parse(c.ArgsLenAtDash(), args)
	}
	return r
}

// addWait adds the flags of how long to wait, with the names that flock has.
func (r *runner) addWait(c *cobra.Command, short string) {
	r.wait = forever
	f := c.Flags()
	f.VarP(&value{"forever", "duration", r.setWait}, "wait", "w", "how long to wait at most; 0: not at all")
	f.BoolFuncP("try", short, "do not wait", func(string) error { r.wait = 0; return nil })
	f.IntVarP(&r.code, "conflict-exit-code", "E", exitNotAcquired, "the exit code if it is not free in time")
	c.MarkFlagsMutuallyExclusive("wait", "try")
}

// forever is a wait without end.
const forever = 100 * 365 * 24 * time.Hour

// addOptionalWait adds the flag of commands that wait only if they are asked to.
func (r *runner) addOptionalWait(c *cobra.Command, purpose string) {
	c.Flags().Var(&value{"", "duration", r.setWait}, "wait", purpose+"; --wait=10s: at most so long")
	c.Flags().Lookup("wait").NoOptDefVal = "forever"
}

func (r *runner) setWait(text string) error {
	r.wait, r.patient = forever, true
	if text == "forever" {
		return nil
	}
	return span(&r.wait)(text)
}

// parse parses the arguments: the name, and behind the dashes the command.
func (r *runner) parse(dash int, args []string) error {
	if dash < 0 {
		dash = len(args)
	}
	switch {
	case dash == 0:
		return usage("no name")
	case dash > 1:
		return usage("%q behind the name: write -- before the command", args[1])
	case r.lease < child.MinLease:
		return usage("a lease of %s leaves the command no time to end: at least %s", r.lease, child.MinLease)
	}
	r.name, r.args = args[0], args[dash:]
	if err := validNames(r.name); err != nil {
		return err
	}
	return r.find()
}

func (r *runner) find() error {
	switch {
	case r.shell != "" && len(r.args) > 0:
		return usage("either -c or a command behind --")
	case r.shell != "":
		r.args = []string{"sh", "-c", r.shell}
	case len(r.args) == 0:
		return usage("nothing to run: write -- and the command behind the name")
	}
	var err error
	if r.path, err = exec.LookPath(r.args[0]); err == nil {
		return nil
	}
	code := child.NotExecuted
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNoCommand
	}
	return &exitError{code, fmt.Errorf("cannot run the command: %w", err)}
}

// acquire acquires a lease, and waits at most until ctx ends.
type acquire func(ctx context.Context) (*primitives.Lease, error)

// run connects, and runs the command under the lease that is acquired by what of returns.
func (r *runner) run(c *cobra.Command, of func(*primitives.Client) (try, wait acquire)) error {
	return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
		try, wait := of(client)
		stop := r.say(ctx, client, r.name)
		var lease *primitives.Lease
		keep := func(acquired acquire) func(context.Context) error {
			return func(ctx context.Context) (err error) { lease, err = acquired(ctx); return err }
		}
		err := r.acquired(ctx, keep(try), keep(wait))
		stop()
		if err != nil {
			return err
		}
		return r.release(lease, r.under(lease, signals))
	})
}

// release releases a lease after its command, which has ended with err, and returns the error of both.
func (r *runner) release(lease *primitives.Lease, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
	defer cancel()
	switch failed := lease.Release(ctx); {
	case failed == nil || codeOf(err) == exitLost:
	case errors.Is(failed, primitives.ErrLost):
		return failed
	default:
		fmt.Fprintln(os.Stderr, "hasp: "+oneLine(failed)) // The lease ends by itself.
	}
	return err
}

// online is [program.online] for a command that may wait.
func (r *runner) online(run func(c *cobra.Command, conn *connect.Conn, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return r.session(c.Context(), func(conn *connect.Conn) error {
			if r.wait != 0 {
				defer r.say(c.Context(), conn.Client, args[0])()
			}
			return run(c, conn, args)
		})
	}
}

// session calls do with a connection. If no server can be reached, a command that is asked to wait tries again.
func (r *runner) session(ctx context.Context, do func(*connect.Conn) error) error {
	r.until = time.Now().Add(r.wait)
	for failed := false; ; failed = true {
		r.opens.Store(true)
		conn, err := r.open(primitives.Options{WatchdogLease: r.lease})
		r.opens.Store(false)
		if err == nil {
			err = do(conn)
			leave(conn)
		}
		rest := min(time.Second, time.Until(r.until))
		if !r.patient || r.ran || !errors.Is(err, primitives.ErrUnavailable) || rest <= 0 {
			return err
		}
		if !failed {
			fmt.Fprintf(os.Stderr, "hasp: %s: trying again\n", oneLine(err))
		}
		if conn != nil {
			go conn.Redis.Close() // It waits for answers.
		}
		if !pause(ctx, rest) {
			return ctx.Err()
		}
	}
}

// pause waits, and reports false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// connected calls do with a client, and with a context that ends at a signal to end.
func (r *runner) connected(
	c *cobra.Command, do func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error,
) error {
	arrived, stop := child.Notify()
	defer stop()
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	signals := make(chan os.Signal, 16)
	go func() {
		for s := range arrived {
			switch {
			case child.Ends(s) && r.opens.Load():
				os.Exit(128 + int(s.(syscall.Signal))) // Nothing was acquired, and the driver cannot be asked to stop.
			case child.Ends(s):
				cancel(&exitError{code: 128 + int(s.(syscall.Signal))})
			case !r.runs.Load():
				child.Pause(s)
				continue // There is no command: one that begins later could not handle it yet.
			}
			select {
			case signals <- s:
			default: // No command has begun that could get so many.
			}
		}
	}()
	err := r.session(ctx, func(conn *connect.Conn) error { return do(ctx, conn.Client, signals) })
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(err, context.Canceled) && cause != nil:
		return cause
	case errors.Is(err, primitives.ErrLost) && codeOf(err) == exitInternal: // The release has found it.
		return r.lost(err)
	}
	return err
}

// leave closes the client, after its last requests. The end of the process closes the connection: the driver would wait
// for answers.
func leave(conn *connect.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
	defer cancel()
	_ = conn.Client.Close(ctx)
}

// acquired acquires as the flags say: by try, or by wait, which waits. The first try waits for its answer, however short
// the time is.
func (r *runner) acquired(ctx context.Context, try, wait func(context.Context) error) (err error) {
	if r.wait == forever {
		return wait(ctx)
	}
	err = try(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) && r.wait > 0 {
		ctx, cancel := context.WithDeadline(ctx, r.until)
		defer cancel()
		refusal := err
		if err = wait(ctx); err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("%w: waited %s", refusal, r.wait)
		}
	}
	if errors.Is(err, primitives.ErrNotAcquired) {
		err = &exitError{r.code, err}
	}
	return err
}

// warn says once which promises are weak.
func (r *runner) warn() {
	if !guard.Separate && !r.ran {
		fmt.Fprintln(os.Stderr, "hasp: on this system a stopped hasp cannot end the command")
	}
	if r.lease < safeLease && !r.ran {
		fmt.Fprintf(os.Stderr, "hasp: a lease of %s is lost when a renewal takes a moment: better %s or more\n", r.lease, safeLease)
	}
}

func (r *runner) under(lease *primitives.Lease, signals <-chan os.Signal) error {
	r.warn()
	c := child.Command{
		Path: r.path, Args: r.args, Grace: r.grace, Length: r.lease,
		Env: []string{"HASP_NAME=" + r.name, "HASP_OWNER=" + lease.Owner()}, Short: r.short, Reserved: revoked,
	}
	if !r.shared {
		c.Env = append(c.Env, "HASP_TOKEN="+strconv.FormatInt(lease.Token(), 10))
	}
	r.ran = true
	r.runs.Store(true)
	result, err := c.Run(lease, signals)
	r.runs.Store(false)
	for len(signals) > 0 {
		<-signals // They were for this command, and not for the next.
	}
	switch {
	case err != nil && result.Code != 0:
		return &exitError{result.Code, err}
	case err != nil:
		return err
	case result.Left != nil:
		lease.Forget() // It ends by itself: until then nobody works next to the processes.
		return &exitError{exitLost, fmt.Errorf("%q is not released: the processes %d of the command keep running", r.name, result.Left)}
	case lease.Err() != nil:
		return r.lost(lease.Err())
	case result.Late:
		return r.lost(errors.New("it could not be renewed in time"))
	case result.Unguarded:
		return &exitError{result.Code, errors.New("the guard was killed, so the command was ended")}
	case result.Code != 0:
		return &exitError{code: result.Code}
	}
	return nil
}

func (r *runner) lost(err error) error {
	why := err.Error()
	var loss *primitives.LossError
	switch errors.As(err, &loss); {
	case revoked(err):
		why = "revoked"
	case errors.Is(err, primitives.LossTaken) && loss.Holder != "":
		why = "taken by " + loss.Holder
	case errors.Is(err, primitives.LossGone):
		why = "the key is gone"
	}
	return &exitError{exitLost, fmt.Errorf("%q was lost while the command ran, and the command was ended: %s%.0w", r.name, why, err)}
}

// revoked reports whether a lease was lost by a Revoke, which keeps the lock by this owner until the lease would have ended.
func revoked(err error) bool {
	var loss *primitives.LossError
	return errors.As(err, &loss) && loss.Holder == "00000000-0000-0000-0000-000000000000:0"
}
