module github.com/hasp-go/hasp/backend/valkey

go 1.25.0

require github.com/hasp-go/hasp v0.0.0

replace github.com/hasp-go/hasp => ../..
