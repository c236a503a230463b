package servers

import (
	"errors"
	"os"
)

// A process cannot be stopped by a signal here.

func pauseProcess(*os.Process) error { return errors.ErrUnsupported }

func resumeProcess(*os.Process) error { return errors.ErrUnsupported }
