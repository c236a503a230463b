---@key lock hash
goto done
