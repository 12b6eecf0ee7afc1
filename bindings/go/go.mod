module tilert

go 1.19
