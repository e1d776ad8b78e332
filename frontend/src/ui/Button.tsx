import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./icons";

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  readonly kind?: "normal" | "primary" | "danger" | "quiet";
  readonly icon?: IconName;
};

export function Button({ kind = "normal", icon, className = "", children, ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button button-${kind} ${className}`} {...rest}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> & {
  readonly icon: IconName;
  /** The accessible name, shown on hover. */
  readonly label: string;
  /** For a toggle: whether it is on. */
  readonly pressed?: boolean;
};

export function IconButton({ icon, label, pressed, className = "", ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-label={label}
      aria-pressed={pressed}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}
