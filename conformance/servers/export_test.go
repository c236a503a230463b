package servers

// ErrPortTaken lets tests see why a start is tried again.
var ErrPortTaken = errPortTaken

// MoveTo starts a server, then starts it again on another port.
func MoveTo(kind Kind, port int, config map[string]string) error {
	s := newServer(kind, &Options{Config: config})
	defer func() { _ = s.close() }()
	if err := s.launch(); err != nil {
		return err
	}
	s.Kill()
	s.port = port
	return s.start()
}
