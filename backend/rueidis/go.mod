module github.com/hasp-go/hasp/backend/rueidis

go 1.25.0

require (
	github.com/hasp-go/hasp v0.0.0
	github.com/redis/rueidis v1.0.79
)

require golang.org/x/sys v0.47.0 // indirect

replace github.com/hasp-go/hasp => ../..
