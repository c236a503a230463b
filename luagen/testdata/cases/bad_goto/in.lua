---@key lock any
goto done
