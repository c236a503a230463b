package servers

import (
	"os"
	"os/exec"
	"runtime"
)

// process is a running server process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts a process in folder dir whose output goes to log, and which the kernel kills
// when this process ends, where the kernel can.
//
// Linux ties that to the thread that started the child, not to the process: the child would be killed when the runtime
// ends that thread. So one goroutine starts it, waits for it, and keeps its thread meanwhile.
func startProcess(dir string, log *os.File, path string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = dieWithParent()
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once, also a stopped one, and waits until it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}
