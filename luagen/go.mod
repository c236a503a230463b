module github.com/hasp-go/hasp/luagen

go 1.25.0
