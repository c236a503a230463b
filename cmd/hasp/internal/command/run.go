package command

import (
	"context"
	"errors"
	"fmt"
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
	code  int // if not acquired
	wait  waiting

	name   string
	args   []string
	path   string
	shared bool // several owners hold it at once, so a token is no fence
	warned bool
	runs   atomic.Bool // the command does
}

// waiting is how long to wait.
type waiting struct {
	limit time.Duration
	secs  float64
	try   bool
}

// addRunner adds the flags that all of them have.
func (p *program) addRunner(c *cobra.Command) *runner {
	r := &runner{program: p}
	c.Use += " NAME [flags] -- COMMAND [ARGUMENT...]"
	f := c.Flags()
	f.DurationVar(&r.lease, "lease", 30*time.Second, "how long others wait if this host fails")
	f.DurationVar(&r.grace, "grace", 10*time.Second,
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
	f := c.Flags()
	f.DurationVar(&r.wait.limit, "wait", -1, "how long to wait at most; 0: not at all (default: without end)")
	f.Float64VarP(&r.wait.secs, "wait-seconds", "w", -1, "the same in seconds")
	f.BoolVarP(&r.wait.try, "try", short, false, "do not wait")
	f.IntVarP(&r.code, "conflict-exit-code", "E", exitNotAcquired, "the exit code if it is not free in time")
	c.MarkFlagsMutuallyExclusive("wait", "wait-seconds", "try")
	_ = f.MarkHidden("wait-seconds")
	f.Lookup("wait").DefValue = "0s" // Help shows no default: -1ns says nothing.
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
	case r.grace < 0:
		return usage("--grace %s is negative", r.grace)
	}
	r.name, r.args = args[0], args[dash:]
	if err := validNames(r.name); err != nil {
		return err
	}
	return r.find()
}

// find finds the command's program.
func (r *runner) find() error {
	switch {
	case r.shell != "" && len(r.args) > 0:
		return usage("either -c or a command behind --")
	case r.shell != "":
		r.args = []string{"sh", "-c", r.shell}
	case len(r.args) == 0:
		return usage("nothing to run: write -- and the command behind the name")
	}
	path, err := exec.LookPath(r.args[0])
	if err != nil {
		return usage("cannot run the command: %w", err)
	}
	r.path = path
	return nil
}

// acquire acquires a lease, and waits at most until ctx ends.
type acquire func(ctx context.Context) (*primitives.Lease, error)

// run connects, and runs the command under the lease that is acquired by what of returns.
func (r *runner) run(c *cobra.Command, of func(*primitives.Client) (try, wait acquire)) error {
	return r.connected(c, func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error {
		try, wait := of(client)
		lease, err := r.acquired(ctx, try, wait)
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
		return r.lost(failed)
	default:
		fmt.Fprintln(os.Stderr, "hasp: "+oneLine(failed)) // The lease ends by itself.
	}
	return err
}

// connected calls do with a client, and with a context that ends at a signal to end.
func (r *runner) connected(
	c *cobra.Command, do func(ctx context.Context, client *primitives.Client, signals <-chan os.Signal) error,
) error {
	conn, err := r.open(primitives.Options{WatchdogLease: r.lease})
	if err != nil {
		return err
	}
	defer leave(conn)
	arrived, stop := child.Notify()
	defer stop()
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	signals := make(chan os.Signal, 16)
	go func() {
		for s := range arrived {
			switch {
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
	err = do(ctx, conn.Client, signals)
	if cause := context.Cause(ctx); err != nil && errors.Is(err, context.Canceled) && cause != nil {
		return cause
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

// acquired acquires a lease as the flags say. The first try waits for its answer, however short the time is.
func (r *runner) acquired(ctx context.Context, try, wait acquire) (*primitives.Lease, error) {
	limit := r.wait.limit
	if r.wait.secs >= 0 {
		limit = time.Duration(r.wait.secs * float64(time.Second))
	}
	if r.wait.try {
		limit = 0
	}
	if limit < 0 {
		return wait(ctx)
	}
	lease, err := try(ctx)
	if errors.Is(err, primitives.ErrNotAcquired) && limit > 0 {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		refusal := err
		lease, err = wait(ctx)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("%w: not free within %s", refusal, limit)
		}
	}
	if errors.Is(err, primitives.ErrNotAcquired) {
		err = &exitError{r.code, err}
	}
	return lease, err
}

// warn says once which promises are weak.
func (r *runner) warn() {
	if !guard.Separate && !r.warned {
		fmt.Fprintln(os.Stderr, "hasp: on this system a stopped hasp cannot end the command")
	}
	if r.lease < safeLease && !r.warned {
		fmt.Fprintf(os.Stderr, "hasp: a lease of %s is lost when a renewal takes a moment: better %s or more\n", r.lease, safeLease)
	}
	r.warned = true
}

// under runs the command under a lease.
func (r *runner) under(lease *primitives.Lease, signals <-chan os.Signal) error {
	r.warn()
	c := child.Command{
		Path: r.path, Args: r.args, Grace: r.grace, Length: r.lease,
		Env: []string{"HASP_NAME=" + r.name, "HASP_OWNER=" + lease.Owner()}, Short: r.short, Reserved: revoked,
	}
	if !r.shared {
		c.Env = append(c.Env, "HASP_TOKEN="+strconv.FormatInt(lease.Token(), 10))
	}
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

// lost returns the error of a lost lease.
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
