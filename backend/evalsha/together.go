package evalsha

// together calls do with 0 to n-1, side by side, and returns when all calls have returned. A panic of
// one of them is raised in the caller then.
func together(n int, do func(int)) {
	if n == 1 {
		do(0)
		return
	}
	calls := make([]<-chan Result[struct{}], n)
	for i := range n {
		calls[i] = Async(func() struct{} { do(i); return struct{}{} })
	}
	ended := make([]Result[struct{}], n)
	for i, call := range calls {
		ended[i] = <-call
	}
	for _, result := range ended {
		result.Get()
	}
}
